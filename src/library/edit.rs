//! Changes to the operations of records.

use std::time::{SystemTime, UNIX_EPOCH};

use super::date::utc;
use epdb_chess::model::{EpdRecord, Opcode, Operand, Operands, Operation, Position};
use epdb_chess::text::{CastlingForm, EnPassantForm, ParseOptions, Profile, epd, fen};

/// Changes to the operations of a record, in this order: operations are kept, dropped, renamed,
/// set, and numbered.
///
/// The counters of a six-field FEN are its operations `hmvc` and `fmvn`.
///
/// ```
/// use epdb_library::edit::{Edit, Numbering, Setting};
/// use epdb_chess::model::Opcode;
/// let edit = Edit {
///     settings: vec![Setting::parse("c0=checked by hand")?],
///     number: Some((Opcode::ID, Numbering::parse("WAC.%03d")?)),
///     ..Edit::default()
/// };
/// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;")?;
/// let edited = edit.apply(&record, 7)?;
/// let expected = b"4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; c0 \"checked by hand\"; id \"WAC.007\";";
/// assert_eq!(epdb_chess::format_epd(&edited), expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edit {
    /// The opcodes that are kept; `None` for all.
    pub keep: Option<Vec<Opcode>>,
    /// Opcodes that are dropped.
    pub drop: Vec<Opcode>,
    /// Opcodes with their new names.
    pub rename: Vec<(Opcode, Opcode)>,
    /// Operations that are set.
    pub settings: Vec<Setting>,
    /// The opcode that gets a number, and the format of the number.
    pub number: Option<(Opcode, Numbering)>,
}

/// Sets the operation `ts` to a date and time of day in UTC (section 6.31 of the EPD standard of
/// 1995).
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use epdb_library::edit::stamp;
/// let mut record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\";")?;
/// stamp(&mut record, UNIX_EPOCH + Duration::from_secs(817_344_000));
/// let expected = b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\"; ts 1995.11.26 00:00:00;";
/// assert_eq!(epdb_chess::format_epd(&record), expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn stamp(record: &mut EpdRecord, at: SystemTime) {
    // A time before 1970 becomes the first second of 1970.
    let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let operands = utc(seconds).split(' ').map(Operand::token).collect();
    record.set(Operation { opcode: Opcode::TS, operands });
}

impl Edit {
    /// Changes a record. `number` is the number that the opcode of [`Edit::number`] gets.
    ///
    /// # Errors
    /// The change that cannot be made to this record, as text.
    pub fn apply(&self, record: &EpdRecord, number: u64) -> Result<EpdRecord, String> {
        let mut edited =
            if self.touches_counters() { record.with_counter_operations() } else { record.clone() };
        if let Some(keep) = &self.keep {
            let opcodes = edited.operations().iter().map(|operation| operation.opcode);
            let others: Vec<_> = opcodes.filter(|opcode| !keep.contains(opcode)).collect();
            for opcode in others {
                edited.remove(opcode);
            }
        }
        for opcode in &self.drop {
            edited.remove(*opcode);
        }
        for (old, new) in &self.rename {
            rename(&mut edited, *old, *new)?;
        }
        for setting in &self.settings {
            let operands = setting.operands(edited.position())?;
            edited.set(Operation { opcode: setting.opcode, operands });
        }
        if let Some((opcode, numbering)) = &self.number {
            let text = numbering.write(number).into_bytes();
            let operands = read_operands(edited.position(), *opcode, &quoted(*opcode, &text)?)?;
            edited.set(Operation { opcode: *opcode, operands });
        }
        Ok(edited)
    }

    /// The opcodes that are kept, dropped or renamed.
    pub fn opcodes_used(&self) -> impl Iterator<Item = &Opcode> {
        let kept = self.keep.iter().flatten();
        kept.chain(&self.drop).chain(self.rename.iter().map(|(old, _)| old))
    }

    /// Looks for changes that would fail for every record.
    ///
    /// # Errors
    /// The mistake, as text.
    pub fn check(&self) -> Result<(), String> {
        if let Some((opcode, numbering)) = &self.number {
            let text = quoted(*opcode, numbering.write(1).as_bytes())?;
            read_operands(&Position::START, *opcode, &text)?;
        }
        Ok(())
    }

    fn touches_counters(&self) -> bool {
        let named = self.drop.iter().chain(self.rename.iter().flat_map(|(old, new)| [old, new]));
        let set = self.settings.iter().map(|setting| &setting.opcode);
        let numbered = self.number.iter().map(|(opcode, _)| opcode);
        let mut all = named.chain(set).chain(numbered);
        self.keep.is_some() || all.any(|opcode| matches!(*opcode, Opcode::HMVC | Opcode::FMVN))
    }
}

/// An operation to set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    opcode: Opcode,
    /// The operands as EPD text.
    operands: Vec<u8>,
}

impl Setting {
    /// Parses `opcode=operands`. Operands are written as in EPD, but strings need no quotes;
    /// `opcode=` has no operands.
    ///
    /// # Errors
    /// The mistake, as text. Whether moves are legal is checked later, for each record.
    pub fn parse(text: &str) -> Result<Setting, String> {
        let (name, operands) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}`: expected OPCODE=VALUE, such as ce=25"))?;
        let opcode = super::field::parse_opcode(name.trim())?;
        if operands.trim().is_empty() && needs_operands(opcode) {
            return Err(format!(
                "`{opcode}=` has no value: add it, or remove the operation with --drop {opcode}"
            ));
        }
        let setting = Setting { opcode, operands: quoted(opcode, operands.trim().as_bytes())? };
        if !is_move_opcode(opcode) {
            setting.operands(&Position::START)?;
        }
        Ok(setting)
    }

    fn operands(&self, position: &Position) -> Result<Vec<Operand>, String> {
        read_operands(position, self.opcode, &self.operands)
    }
}

/// A format of numbers: `WAC.%03d`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbering {
    before: String,
    after: String,
    width: usize,
    fill: char,
}

impl Numbering {
    /// Parses a format with one `%d`, `%5d` (filled with blanks) or `%05d` (filled with zeros);
    /// `%%` is a percent sign.
    ///
    /// # Errors
    /// The mistake, as text.
    pub fn parse(pattern: &str) -> Result<Numbering, String> {
        let wrong = || format!("`{pattern}` needs exactly one %d, or %03d for three digits");
        let escaped = pattern.replace("%%", "\0");
        let (before, rest) = escaped.split_once('%').ok_or_else(wrong)?;
        let (width, after) = rest.split_once('d').ok_or_else(wrong)?;
        if after.contains('%') || !width.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let fill = if width.starts_with('0') { '0' } else { ' ' };
        let width = if width.is_empty() { 0 } else { width.parse().map_err(|_| wrong())? };
        if width > 20 {
            return Err(format!("`{pattern}`: a number has at most 20 digits"));
        }
        let plain = |text: &str| text.replace('\0', "%");
        Ok(Numbering { before: plain(before), after: plain(after), width, fill })
    }

    /// Formats a number.
    pub fn write(&self, number: u64) -> String {
        let digits = number.to_string();
        let fill: String =
            std::iter::repeat_n(self.fill, self.width.saturating_sub(digits.len())).collect();
        format!("{}{fill}{digits}{}", self.before, self.after)
    }
}

fn rename(record: &mut EpdRecord, old: Opcode, new: Opcode) -> Result<(), String> {
    if old == new || record.operands(old).is_none() {
        return Ok(());
    }
    if record.operands(new).is_some() {
        return Err(format!("{old} cannot become {new}: the record has {new} already"));
    }
    let Some(Operation { operands, .. }) = record.remove(old) else { return Ok(()) };
    let same_kind =
        old.standard().map(|entry| entry.operands) == new.standard().map(|entry| entry.operands);
    let operands = if same_kind {
        operands
    } else if takes_one_string(new) {
        let text = operands.iter().map(Operand::text).collect::<Vec<_>>().join(&b' ');
        read_operands(record.position(), new, &quoted(new, &text)?)?
    } else {
        let mut text = Vec::new();
        for operand in &operands {
            text.push(b' ');
            operand.write_to(&mut text);
        }
        read_operands(record.position(), new, &text)?
    };
    record.set(Operation { opcode: new, operands });
    Ok(())
}

fn takes_one_string(opcode: Opcode) -> bool {
    matches!(opcode.standard().map(|entry| entry.operands), Some(Operands::Str { .. }))
}

fn needs_operands(opcode: Opcode) -> bool {
    let may_be_empty = |operands| {
        matches!(operands, Operands::None | Operands::Any | Operands::Str { optional: true })
    };
    opcode.standard().is_some_and(|entry| !may_be_empty(entry.operands))
}

fn is_move_opcode(opcode: Opcode) -> bool {
    use super::field::Field;
    use super::value::Type;
    Field::Operation(opcode).kind() == Type::Moves
}

/// The text of operands; a string operand gets quotes if it needs them.
fn quoted(opcode: Opcode, text: &[u8]) -> Result<Vec<u8>, String> {
    let has_quotes = matches!(text, [b'"', .., b'"']);
    if has_quotes || !takes_one_string(opcode) {
        return Ok(text.to_vec());
    }
    if text.contains(&b'"') {
        return Err(format!("{opcode}: a string cannot contain a quotation mark"));
    }
    Ok([b"\"", text, b"\""].concat())
}

/// Parses operands as the lenient reader does, but repairs only the spelling of moves. Errors are
/// those of the strict reader, which do not mention repairs.
fn read_operands(position: &Position, opcode: Opcode, text: &[u8]) -> Result<Vec<Operand>, String> {
    let shown = || String::from_utf8_lossy(text).trim().to_owned();
    if text.contains(&b';') && !text.contains(&b'"') {
        return Err(format!(
            "{opcode}: `{}` contains a semicolon, which ends an operation",
            shown()
        ));
    }
    let mut line = Vec::new();
    fen::format_fields(position, CastlingForm::Shredder, EnPassantForm::Keep, &mut line);
    let behind_position = line.len();
    line.extend_from_slice(format!(" {opcode} ").as_bytes());
    line.extend_from_slice(text);
    line.push(b';');
    let mut warnings = Vec::new();
    let read = epd::parse_line(&line, &ParseOptions::default(), &mut warnings);
    let complaint = |message: &str| match shown() {
        shown if shown.is_empty() || message.contains(&format!("`{shown}`")) => {
            format!("{opcode}: {message}")
        }
        shown => format!("{opcode}: `{shown}`: {message}"),
    };
    let about_operands = |code: &str| !code.starts_with("W-POS") && !code.starts_with("W-CONS");
    if let Some(warning) = warnings.iter().find(|warning| about_operands(warning.code)) {
        let strict = ParseOptions::new(Profile::Strict);
        let error = epd::parse_line(&line, &strict, &mut Vec::new()).err();
        let error = error.filter(|error| error.column > behind_position);
        return Err(complaint(&error.map_or(warning.message.clone(), |error| error.message)));
    }
    match read {
        Ok(epd::Line::Record(record)) => match record.operations() {
            [operation] if operation.opcode == opcode => Ok(operation.operands.clone()),
            _ => Err(complaint("these are not the operands of one operation")),
        },
        Ok(_) => Err(complaint("nothing was read")),
        Err(error) => Err(complaint(&error.message)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn opcode(name: &str) -> Opcode {
        Opcode::new(name.as_bytes()).unwrap()
    }

    fn edited(edit: &Edit, line: &str) -> Result<String, String> {
        let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
        edit.apply(&record, 1)
            .map(|record| String::from_utf8(epdb_chess::format_epd(&record)).unwrap())
    }

    const A: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";

    #[test]
    fn settings_take_what_epd_takes() {
        let set = |settings: &[&str]| {
            let settings = settings.iter().map(|it| Setting::parse(it).unwrap()).collect();
            edited(&Edit { settings, ..Edit::default() }, &format!("{A} bm Kd2; ce 1;"))
        };
        assert_eq!(
            set(&[
                "ce=-20",
                "bm=e2e4 Kd1",
                "c0=two; parts",
                "Eval=good 1.5",
                "resign=",
                "id=\"x\"",
                "c1="
            ]),
            Ok(format!(
                "{A} Eval good 1.5; bm Kd1 e4; c0 \"two; parts\"; c1 \"\"; ce -20; id \"x\"; resign;"
            ))
        );
        assert!(set(&["bm=Nf3"]).unwrap_err().starts_with("bm: `Nf3`: "));
    }

    #[test]
    fn settings_that_no_record_can_take_are_refused_beforehand() {
        for wrong in [
            "ce",
            "ce=good",
            "ce=40000",
            "9x=1",
            "c0=say \"hi\" now",
            "dm=1; ce 2",
            "resign=1",
            "bm=",
            "id= ",
            "ce=",
            "ts=now",
            "fmvn=0",
        ] {
            assert!(Setting::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Setting::parse("bm=Qh9").is_ok(), "moves are the matter of a position");
    }

    #[test]
    fn keeping_dropping_and_renaming_know_both_forms_of_counters() {
        let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 3 17";
        let keep = |opcodes: &[&str]| Edit {
            keep: Some(opcodes.iter().map(|it| opcode(it)).collect()),
            ..Edit::default()
        };
        assert_eq!(edited(&keep(&["bm"]), fen), Ok(A.into()));
        assert_eq!(edited(&keep(&["fmvn"]), fen), Ok(format!("{A} fmvn 17;")));
        assert_eq!(
            edited(&keep(&["id", "bm"]), &format!("{A} bm e4; ce 2; id \"a\";")),
            Ok(format!("{A} bm e4; id \"a\";"))
        );
        let drop = Edit { drop: vec![opcode("hmvc")], ..Edit::default() };
        assert_eq!(edited(&drop, fen), Ok(format!("{A} fmvn 17;")));
        assert_eq!(edited(&Edit::default(), fen), Ok(fen.into()));
        let rename = |old: &str, new: &str| Edit {
            rename: vec![(opcode(old), opcode(new))],
            ..Edit::default()
        };
        assert_eq!(
            edited(&rename("c1", "c9"), &format!("{A} c1 \"x\";")),
            Ok(format!("{A} c9 \"x\";"))
        );
        assert_eq!(
            edited(&rename("bm", "c9"), &format!("{A} bm e3 e4;")),
            Ok(format!("{A} c9 \"e3 e4\";"))
        );
        assert_eq!(edited(&rename("cp", "ce"), &format!("{A} cp -7;")), Ok(format!("{A} ce -7;")));
        assert_eq!(edited(&rename("sm", "bm"), &format!("{A} sm e4;")), Ok(format!("{A} bm e4;")));
        assert!(edited(&rename("c1", "c9"), &format!("{A} c1 \"x\"; c9 \"y\";")).is_err());
        assert!(edited(&rename("c1", "ce"), &format!("{A} c1 \"x\";")).is_err());
    }

    #[test]
    fn numbers_are_written_as_the_pattern_says() {
        let write = |pattern: &str, number| Numbering::parse(pattern).map(|it| it.write(number));
        assert_eq!(write("WAC.%03d", 7), Ok("WAC.007".into()));
        assert_eq!(write("%d of 100%%", 1234), Ok("1234 of 100%".into()));
        assert_eq!(write("%3d.", 7), Ok("  7.".into()));
        for wrong in ["WAC", "%s", "%d %d", "%", "%-3d", "%999d"] {
            assert!(write(wrong, 1).is_err(), "{wrong}");
        }
    }
}
