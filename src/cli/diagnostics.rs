//! Diagnostics: printed to stderr, counted by code, and written to the files of rejects and
//! repairs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use super::args::FormArgs;
use super::comments::Comments;
use super::outcome::Outcome;
use super::output::{TableForm, check_other_name, create_file};
use super::places::{self, note_loss};
use super::terminal::{is_quiet, many, note, print_error, print_line, print_object, prints_json};
use super::values;
use serde::Serialize;

use epdb_archive::Damage;
use epdb_chess::error::Place;
use epdb_chess::model::{Color, Game, Opcode};
use epdb_chess::text::{Diagnostic, Setting, Severity, codes};
use epdb_library::expression::{Expression, Pushdown};
use epdb_library::field::Field;
use epdb_library::game_tag::PlayerSearch;
use epdb_source::{BookFindings, Output};

/// Number of diagnostics per code that are printed on a terminal without `--all-warnings`.
const SHOWN_ON_TERMINAL: u64 = 3;
/// The same number if the output is not a terminal.
const SHOWN: u64 = 20;

/// Maximum number of errors that are listed.
const MAX_LISTED: usize = 10_000;

/// Maximum number of files whose rejected items are counted.
const MAX_FILES: usize = 10_000;
/// Number of files with the most rejected items that the summary names.
const WORST_FILES: usize = 3;

/// Counts of the lines of a run.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Tally {
    /// Number of records that were read and used.
    pub(crate) records: u64,
    /// Number of those records that are positions of games, and number of these games.
    pub(crate) game_positions: u64,
    pub(crate) games_as_positions: u64,
    /// Number of games that were read and used as games.
    pub(crate) games: u64,
    /// Records and games that `--where` left out.
    pub(crate) left_out: u64,
    pub(crate) left_out_games: u64,
    /// Number of those records that were not decoded, because their positions exclude them.
    pub(crate) left_out_unread: u64,
    /// Blank lines and comments.
    pub(crate) skipped: u64,
    /// Lines, damaged records and games that were not read.
    pub(crate) rejected: u64,
    /// Rejected items that were to be read as games.
    pub(crate) rejected_games: u64,
    /// Records in damaged parts of archives.
    pub(crate) lost: u64,
    /// Games cut short before an illegal move or by a comment or variation that is not closed; not included in
    /// [`Tally::games`].
    pub(crate) cut_short: u64,
    /// Games in PGC without a checksum.
    pub(crate) unchecked_games: u64,
    /// Number of positions of variations that were left out.
    pub(crate) of_variations: u64,
    /// Number of positions that were left out because they come after a null move.
    pub(crate) behind_null_moves: u64,
    /// Evaluations in comments of games that could not be read.
    pub(crate) unread_evaluations: u64,
    pub(crate) book: BookFindings,
    /// Operands that have to be legal moves and are not.
    pub(crate) illegal_moves: u64,
}

impl Tally {
    const fn unit(&self) -> &'static str {
        if self.games + self.left_out_games > 0 { "game" } else { "record" }
    }

    /// Number of rejected items and truncated games.
    pub(crate) const fn not_whole(&self) -> u64 {
        self.rejected + self.cut_short + self.lost
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally {
            records,
            games,
            left_out,
            left_out_games,
            skipped,
            rejected,
            rejected_games,
            lost,
            cut_short,
            ..
        } = *self;
        let has_records = records + skipped + left_out > left_out_games;
        let has_games =
            games + rejected_games + left_out_games > 0 || !has_records && cut_short > 0;
        if has_games {
            write!(f, "{}, ", many(games, "game"))?;
        }
        if !has_games || records + skipped > 0 {
            let skipped = many(skipped, "blank or comment line");
            write!(f, "{}, {skipped}, ", many(records, "record"))?;
        }
        match cut_short {
            0 => {}
            count if has_games => write!(f, "{count} cut short, ")?,
            count => write!(f, "{} cut short, ", many(count, "game"))?,
        }
        write!(f, "{rejected} rejected")?;
        if lost > 0 {
            write!(f, ", {lost} lost")?;
        }
        match left_out {
            0 => Ok(()),
            count => write!(f, ", {count} left out by --where"),
        }
    }
}

/// Input that cannot be read, but that the output keeps byte for byte.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum InOutput {
    Nothing,
    Rejected,
    /// Rejected text, and the whole text of games that are cut short.
    Everything,
}

pub(crate) struct Diagnostics {
    codes: BTreeMap<&'static str, CodeCount>,
    files: BTreeMap<Arc<str>, RejectedCount>,
    /// Number of printed diagnostics per code.
    shown: u64,
    deny_warnings: bool,
    allow_rejects: bool,
    /// True if truncated games count like complete ones.
    takes_cut_short: bool,
    rejects: Option<Rejects>,
    kept_in_output: InOutput,
    repairs: Option<Output>,
    /// Errors of the current file as text, if they are listed.
    listed: Option<Vec<String>>,
    /// The warnings of the file that is verified, if any. They are printed after its findings.
    late_warnings: Option<Vec<String>>,
    /// Number of damaged parts of archives.
    damaged_parts: u64,
    /// True if more records may be lost than [`Tally::lost`].
    has_lost_more: bool,
    /// The expression of `--where`, which notes fields that no record had.
    filter: Option<Expression>,
    /// The player that some game should have.
    player: Option<PlayerSearch>,
    /// Comments and blank lines for the output.
    comments: Comments,
    pub(crate) tally: Tally,
}

/// The file of `--rejects`. The last line of a source that lacks its end gets one before the text of the next source.
struct Rejects {
    file: Output,
    last: u8,
    is_new_source: bool,
}

impl Write for Rejects {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(&last) = bytes.last() else { return Ok(0) };
        if std::mem::take(&mut self.is_new_source) && !matches!(self.last, b'\n' | b'\r') {
            self.file.write_all(b"\n")?;
        }
        self.last = last;
        self.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

struct CodeCount {
    severity: Severity,
    count: u64,
    /// Number of those that were found in the current file, if files are verified, or in all files.
    in_file: u64,
    first: Place,
}

/// Maximum number of equal findings that are printed.
pub(crate) fn shown_findings(args: &FormArgs) -> u64 {
    if args.all_warnings || prints_json() {
        u64::MAX
    } else if io::stderr().is_terminal() {
        SHOWN_ON_TERMINAL
    } else {
        SHOWN
    }
}

/// Number of rejected items of a file, and the first option that would make one of them acceptable.
#[derive(Default)]
struct RejectedCount {
    count: u64,
    setting: Option<Setting>,
}

impl Diagnostics {
    /// Opens the files in the arguments and starts the threads.
    pub(crate) fn new(args: &FormArgs) -> anyhow::Result<Diagnostics> {
        values::start_threads(args.threads)?;
        if let Some(path) = &args.repairs {
            check_other_name(path, "a table of repairs", TableForm::Tsv.suffixes())?;
        }
        let mut repairs = args.repairs.as_deref().map(create_file).transpose()?;
        if let Some(file) = &mut repairs {
            file.write_all(b"#file\tline\tcode\tbefore\tafter\n")?;
        }
        let rejects = args.rejects.as_deref().map(create_file).transpose()?;
        let rejects = rejects.map(|file| Rejects { file, last: b'\n', is_new_source: false });
        Ok(Diagnostics {
            codes: BTreeMap::new(),
            files: BTreeMap::new(),
            shown: shown_findings(args),
            deny_warnings: args.deny_warnings,
            allow_rejects: args.allow_rejects,
            takes_cut_short: args.games.truncate_games,
            rejects,
            kept_in_output: InOutput::Nothing,
            repairs,
            listed: None,
            late_warnings: None,
            damaged_parts: 0,
            has_lost_more: false,
            filter: None,
            player: None,
            comments: Comments::default(),
            tally: Tally::default(),
        })
    }

    /// Lists the errors from now on, and returns those that were listed since the last call.
    pub(crate) fn list_errors(&mut self) -> Vec<String> {
        self.listed.replace(Vec::new()).unwrap_or_default()
    }

    /// From now on, an illegal move in an operation is a finding, as an error is. The findings of a file are
    /// printed before its warnings, and both are counted for each file.
    pub(crate) fn begin_verified_file(&mut self) {
        self.late_warnings = Some(Vec::new());
        self.codes.values_mut().for_each(|code| code.in_file = 0);
    }

    /// Prints the warnings of the file that was verified.
    pub(crate) fn end_verified_file(&mut self) {
        let warnings = self.late_warnings.take().unwrap_or_default();
        warnings.iter().for_each(|warning| print_line(warning));
    }

    /// Reports at the end the tags and private opcodes of the expression that no record had.
    pub(crate) fn watch(&mut self, filter: Option<&Expression>) {
        self.filter = filter.cloned();
    }

    /// Prints the terms of the expression that positions decide, and the number of records at each stage.
    pub(crate) fn explain(&self, filter: &Expression) {
        let shown = |is_of_position: bool| {
            let terms = filter.terms().filter(|term| term.is_of_position == is_of_position);
            terms.map(|term| term.text.as_str()).collect::<Vec<_>>().join(", ")
        };
        match filter.pushdown() {
            Pushdown::All => note!("epdb: the position alone decides: {}", shown(true)),
            Pushdown::Some => {
                note!("epdb: the position decides first: {}", shown(true));
                note!("epdb: then the record: {}", shown(false));
            }
            Pushdown::None => note!("epdb: any position may match; the record decides"),
        }
        let Tally { records, games, left_out, left_out_unread, .. } = self.tally;
        let all = many(records + games + left_out, self.tally.unit());
        let read = records + games + left_out - left_out_unread;
        let matching = records + games;
        note!(
            "epdb: {all}: {left_out_unread} excluded by position alone, {read} read, {matching} match"
        );
    }

    /// Number of games that were read, whatever --where makes of them.
    pub(crate) const fn games_read(&self) -> u64 {
        self.tally.games + self.tally.cut_short + self.tally.left_out
    }

    /// Number of warnings so far.
    pub(crate) fn warnings_found(&self) -> u64 {
        let warnings = self.codes.values().filter(|code| code.severity == Severity::Warning);
        warnings.map(|code| code.count).sum()
    }

    /// From now on, looks for this player in the games. If no game has the player, that is reported at the
    /// end, and the outcome is different.
    pub(crate) fn watch_player(&mut self, names: &[String], side: Option<Color>) {
        self.player = PlayerSearch::new(names, side);
    }

    pub(crate) fn note_players(&mut self, game: &Game) {
        self.player.iter_mut().for_each(|player| player.add(game));
    }

    /// Notes text that the output does not have: that of a tag, or a column. Text in the file of repairs is not lost.
    fn note_dropped(&self, warning: &Diagnostic) -> io::Result<()> {
        let is_kept = self.kept_in_output == InOutput::Everything || self.deny_warnings;
        let is_saved = self.repairs.is_some() && warning.repair.is_some();
        if is_kept || is_saved || !drops_text(warning) {
            return Ok(());
        }
        let save =
            if warning.repair.is_some() { ", which --repairs FILE.tsv would save" } else { "" };
        places::note_dropped([format!("text of {}{save}", warning.code)])
    }

    /// Reports a warning, or the error of an item that was not read.
    pub(crate) fn report(&mut self, place: &Place, found: &Diagnostic) -> io::Result<()> {
        match found.severity {
            Severity::Error => self.error(place, found),
            Severity::Warning => self.warnings(place, std::slice::from_ref(found)).map(drop),
        }
    }

    /// Reports the warnings of a line; returns whether the line is accepted.
    pub(crate) fn warnings(&mut self, place: &Place, warnings: &[Diagnostic]) -> io::Result<bool> {
        for warning in warnings {
            self.note(place, warning)?;
            if let (Some(file), Some(repair)) = (&mut self.repairs, &warning.repair) {
                write_field(file, place.source.as_bytes())?;
                write!(file, "\t{}\t{}\t", place.number(), warning.code)?;
                write_field(file, &repair.before)?;
                file.write_all(b"\t")?;
                write_field(file, &repair.after)?;
                file.write_all(b"\n")?;
            }
            self.note_dropped(warning)?;
        }
        Ok(!self.deny_warnings || warnings.is_empty())
    }

    /// Reports the error of a rejected line.
    pub(crate) fn error(&mut self, place: &Place, error: &Diagnostic) -> io::Result<()> {
        if self.files.len() < MAX_FILES || self.files.contains_key(&place.source) {
            let file = self.files.entry(Arc::clone(&place.source)).or_default();
            file.count += 1;
            file.setting = file.setting.or(error.setting);
        }
        self.note(place, error)
    }

    /// The text that follows is that of another source.
    pub(crate) fn begin_source(&mut self) {
        self.comments.begin_source();
        self.rejects.iter_mut().for_each(|rejects| rejects.is_new_source = true);
    }

    /// Lines about the files with the most rejected items, if there are several files with some.
    fn worst_files(&self) -> Vec<String> {
        if self.files.len() < 2 {
            return Vec::new();
        }
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(_, rejected)| Reverse(rejected.count));
        let shown = |(file, RejectedCount { count, setting }): &(&Arc<str>, &RejectedCount)| {
            format!("{count} rejected in {file}{}", setting.map_or("", option))
        };
        let mut lines: Vec<_> = files.iter().take(WORST_FILES).map(shown).collect();
        if let Some(others) = files.get(WORST_FILES..).filter(|others| !others.is_empty()) {
            let count: u64 = others.iter().map(|(_, rejected)| rejected.count).sum();
            lines.push(format!("{count} rejected in {}", many(others.len() as u64, "other file")));
        }
        lines
    }

    /// Counts a rejected line and keeps its bytes.
    pub(crate) fn rejected(&mut self, raw: &[u8]) -> io::Result<()> {
        self.tally.rejected += 1;
        self.keep_reject(raw)
    }

    /// Keeps bytes of a rejected line, which may come in pieces.
    ///
    /// # Errors
    /// The bytes cannot be written, or would be lost because the output replaces an input.
    pub(crate) fn keep_reject(&mut self, raw: &[u8]) -> io::Result<()> {
        self.reject_sink()?.write_all(raw)
    }

    /// Counts a game that is cut short and keeps its bytes.
    ///
    /// # Errors
    /// The errors of [`Diagnostics::keep_reject`].
    pub(crate) fn cut_short(&mut self, raw: &[u8]) -> io::Result<()> {
        self.tally.cut_short += 1;
        self.sink(InOutput::Everything)?.write_all(raw)
    }

    /// Reports a damaged part of an archive, and counts the records that are lost.
    ///
    /// # Errors
    /// The output replaces an input, so the bytes of the part would be lost too.
    pub(crate) fn damaged(&mut self, file: &str, damage: &Damage) -> io::Result<()> {
        self.tally.lost += damage.records;
        self.has_lost_more |= damage.is_open_ended();
        self.damaged_parts += 1;
        if self.damaged_parts <= self.shown {
            print_error(&format!("{file}: {damage}"));
        }
        note_loss()
    }

    /// The records that were lost in damaged parts; `None` if no part was damaged.
    pub(crate) fn loss(&self) -> Option<String> {
        if self.damaged_parts == 0 {
            return None;
        }
        let lost = match self.tally.lost {
            0 if self.has_lost_more => "an unknown number of records".to_string(),
            lost if self.has_lost_more => format!("at least {}", many(lost, "record")),
            lost => many(lost, "record"),
        };
        Some(format!("{lost} lost in {}", many(self.damaged_parts, "damaged part")))
    }

    /// A sink for the bytes of a rejected line.
    ///
    /// # Errors
    /// The errors of [`Diagnostics::keep_reject`].
    pub(crate) fn reject_sink(&mut self) -> io::Result<Box<dyn Write + '_>> {
        self.sink(InOutput::Rejected)
    }

    /// A sink for rejected bytes: the file of rejects, if there is one. Without it, the bytes are lost unless
    /// the output keeps them, which it does if it keeps `enough` or more.
    fn sink(&mut self, enough: InOutput) -> io::Result<Box<dyn Write + '_>> {
        match &mut self.rejects {
            Some(file) => return Ok(Box::new(file)),
            None if self.kept_in_output >= enough => {}
            None => note_loss()?,
        }
        Ok(Box::new(io::sink()))
    }

    /// Call this if the output keeps rejected lines. Then no rejected line is lost.
    pub(crate) const fn keep_rejects_in_output(&mut self) {
        self.kept_in_output = InOutput::Rejected;
    }

    /// Call this if the output keeps all bytes of the input.
    pub(crate) const fn keep_everything_in_output(&mut self) {
        self.kept_in_output = InOutput::Everything;
    }

    fn note(&mut self, place: &Place, diagnostic: &Diagnostic) -> io::Result<()> {
        let entry = self.codes.entry(diagnostic.code).or_insert_with(|| CodeCount {
            severity: diagnostic.severity,
            count: 0,
            in_file: 0,
            first: place.clone(),
        });
        let is_illegal_move = diagnostic.code == codes::W_LEN_MOVE && self.late_warnings.is_some();
        self.tally.illegal_moves += u64::from(is_illegal_move);
        let is_finding = diagnostic.severity == Severity::Error || is_illegal_move;
        let is_fatal =
            is_finding || diagnostic.code == codes::W_PGN_TRUNCATED || self.deny_warnings;
        if let Some(listed) = self.listed.as_mut().filter(|_| is_fatal) {
            match listed.len() {
                ..MAX_LISTED => listed.push(format!("{}:{diagnostic}", place.number())),
                MAX_LISTED => listed.push("further errors are not listed".into()),
                _ => {}
            }
        }
        let is_wanted = is_finding || !is_quiet();
        let is_shown = is_wanted && entry.in_file < self.shown;
        entry.count += u64::from(diagnostic.findings);
        entry.in_file += u64::from(diagnostic.findings);
        if !is_shown {
            return Ok(());
        }
        let advice = diagnostic.setting.map_or("", option);
        if prints_json() {
            print_object(&Found::new(place, diagnostic, advice));
            return Ok(());
        }
        let line = format!("{}:{}:{diagnostic}{advice}", place.source, place.number());
        // All warnings of a large file would not fit into memory.
        let is_late = !is_fatal && self.shown < u64::MAX;
        match &mut self.late_warnings {
            Some(warnings) if is_late => warnings.push(line),
            _ => print_line(&line),
        }
        Ok(())
    }

    /// Comments and blank lines for the output.
    pub(crate) const fn comments(&self) -> &Comments {
        &self.comments
    }

    /// Completes the files and prints the table of codes.
    pub(crate) fn finish(mut self) -> anyhow::Result<Outcome> {
        for (place, warning) in self.comments.clone().warnings() {
            self.report(&place, &warning)?;
        }
        self.report_what_is_missing();
        let worst_files = self.worst_files();
        let missing = self.player.as_ref().and_then(PlayerSearch::missing);
        let others = self.player.as_ref().and_then(PlayerSearch::others);
        missing.iter().chain(&others).for_each(|names| print_line(&format!("epdb: {names}")));
        self.rejects.map(|rejects| rejects.file.finish()).transpose()?;
        self.repairs.map(Output::finish).transpose()?;
        if prints_json() && !is_quiet() {
            print_object(&Summary::new(&self.codes, &self.tally));
        } else if !self.codes.is_empty() && !is_quiet() {
            print_line(&format!("{:<18} {:<8} {:>10}  first at", "code", "", "count"));
            for (code, CodeCount { severity, count, first, .. }) in &self.codes {
                let severity = severity.to_string();
                print_line(&format!(
                    "{code:<18} {severity:<8} {count:>10}  {}:{}",
                    first.source,
                    first.number()
                ));
            }
            print_line(&self.tally.to_string());
            worst_files.iter().for_each(|line| print_line(line));
        }
        let Tally { rejected, cut_short, book, .. } = self.tally;
        let is_damaged = self.damaged_parts > 0;
        let is_cut = cut_short > 0 && !self.takes_cut_short;
        // Positions that no search found are reported. They count as a failure only with
        // --deny-warnings, because nothing can be done about them.
        let is_known = book.unknown_entries == 0 || !self.deny_warnings;
        let is_whole = rejected == 0 && is_known && !is_cut;
        let is_rejected = !is_whole && !self.allow_rejects;
        Ok(Outcome::different_if(is_damaged || is_rejected || missing.is_some()))
    }
}

impl Diagnostics {
    /// Reports fields that never occurred, and positions that were skipped.
    fn report_what_is_missing(&self) {
        let Tally {
            records,
            game_positions,
            games_as_positions,
            games,
            left_out,
            of_variations,
            behind_null_moves,
            unread_evaluations,
            book,
            ..
        } = self.tally;
        if let Some(loss) = self.loss() {
            note!("epdb: {loss}");
        }
        if game_positions > 0 {
            let games = many(games_as_positions, "game");
            note!("epdb: {} of {games}", many(game_positions, "position"));
        }
        if records + games + left_out > 0 {
            let has_skipped = self.filter.as_ref().is_some_and(Expression::has_skipped);
            let position = if has_skipped { " with a matching position" } else { "" };
            let who = format!("no {}{position}", self.tally.unit());
            report_never_met(&who, self.filter.iter().flat_map(Expression::never_met));
            if let Some(hint) = self.filter.as_ref().and_then(Expression::hint) {
                note!("epdb: {hint}");
            }
        }
        if of_variations > 0 {
            let positions = many(of_variations, "position");
            note!("epdb: {positions} of variations left out; --variations reads them");
        }
        if behind_null_moves > 0 {
            note!("epdb: {} after null moves left out", many(behind_null_moves, "position"));
        }
        if unread_evaluations > 0 {
            let evaluations = many(unread_evaluations, "evaluation");
            note!("epdb: {evaluations} in comments could not be read");
        }
        report_book(&book);
    }
}

/// A diagnostic (`--messages json`).
#[derive(Serialize)]
struct Found<'d> {
    severity: &'static str,
    code: &'static str,
    file: &'d str,
    /// Number of the line, or of the record in binary sources, from 1.
    line: u64,
    /// Number of the byte in the line, from 1.
    column: usize,
    message: String,
}

impl<'d> Found<'d> {
    fn new(place: &'d Place, found: &Diagnostic, advice: &str) -> Found<'d> {
        Found {
            severity: word(found.severity),
            code: found.code,
            file: &place.source,
            line: place.number(),
            column: found.column,
            message: format!("{}{advice}", found.message),
        }
    }
}

/// The last object of a run (`--messages json`).
#[derive(Serialize)]
struct Summary<'d> {
    severity: &'static str,
    games: u64,
    records: u64,
    skipped: u64,
    cut_short: u64,
    rejected: u64,
    /// Records in damaged parts of archives.
    #[serde(skip_serializing_if = "is_zero")]
    lost: u64,
    left_out: u64,
    /// Number of findings by code.
    codes: BTreeMap<&'d str, u64>,
}

impl<'d> Summary<'d> {
    fn new(codes: &BTreeMap<&'d str, CodeCount>, tally: &Tally) -> Summary<'d> {
        let Tally { games, records, skipped, cut_short, rejected, lost, left_out, .. } = *tally;
        let codes = codes.iter().map(|(code, found)| (*code, found.count)).collect();
        let severity = "summary";
        Summary { severity, games, records, skipped, cut_short, rejected, lost, left_out, codes }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Reports entries of opening books that did not become records.
fn report_book(book: &BookFindings) {
    for (count, what) in [
        (
            book.unknown_entries,
            "without a known position, left out: `epdb book list` finds more with --source",
        ),
        (book.illegal_entries, "with an illegal move"),
        (book.disordered_entries, "out of order; read by key"),
    ] {
        if count > 0 {
            note!("epdb: {} {what}", many(count, "book entry"));
        }
    }
}

/// Reports the fields that no record had. `who` names these records.
pub(crate) fn report_never_met<'f>(who: &str, fields: impl Iterator<Item = &'f Field>) {
    for field in fields {
        match field.probably_meant() {
            Some(opcode) => note!("epdb: {who} has `{field}`: did you mean `{opcode}`?"),
            None if *field == Field::Operation(Opcode::CE) => {
                note!("epdb: {who} has `{field}`{}", Field::CE_OF_GAMES);
            }
            None => note!("epdb: {who} has `{field}`"),
        }
    }
}

/// True if a warning is about text that was dropped. A repair that keeps all letters and digits changes only the form.
fn drops_text(warning: &Diagnostic) -> bool {
    let letters = |text: &[u8]| text.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    match warning.code {
        codes::W_LINE_COLUMN | codes::W_SOURCE_TRAILING | codes::W_SOURCE_CHARSET => true,
        codes::W_PGN_TAG | codes::W_PGN_TAGDUP | codes::W_PGN_TOKEN => {
            let repair = warning.repair.as_ref();
            repair.is_some_and(|repair| letters(&repair.before) > letters(&repair.after))
        }
        _ => false,
    }
}

/// The option that would make a line acceptable.
const fn option(setting: Setting) -> &'static str {
    match setting {
        Setting::Labels => "; use --labels",
        Setting::ScoreView => "; use --score-view white or mover",
        Setting::Perft => "; use --perft",
        Setting::GameLimit => "; --max-game reads larger ones",
    }
}

/// Writes bytes as one field of a tab-separated file. Tabs, line ends and backslashes are escaped.
pub(crate) fn write_field(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    for &byte in bytes {
        match byte {
            b'\t' => out.write_all(b"\\t")?,
            b'\n' => out.write_all(b"\\n")?,
            b'\r' => out.write_all(b"\\r")?,
            b'\\' => out.write_all(b"\\\\")?,
            0..=31 | 127 => write!(out, "\\x{byte:02x}")?,
            _ => out.write_all(&[byte])?,
        }
    }
    Ok(())
}
