//! The table of records.

use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::cells::Kind;
use super::row::CellWriter;
use super::table::{
    Batch, Columns, Layout, OtherColumns, PutOther, Table, TableOptions, all_names, unknown,
    view_name,
};
use epdb_chess::codec::key::{polyglot_key, position_key};
use epdb_chess::codec::packed;
use epdb_chess::codec::polyglot::BookMove;
use epdb_chess::error::{Error, Place, Result, TableRow};
use epdb_chess::model::rules::Move;
use epdb_chess::model::score::{Evaluation, Score};
use epdb_chess::model::{
    CastlingDialect, Color, Counters, EpdRecord, GameResult, Opcode, Operand, Operands, Operation,
    Piece, Role, StandardOpcode,
};
use epdb_chess::text::fields::{self, CounterText};
use epdb_chess::text::pgn::GamePosition;
use epdb_chess::text::{CastlingForm, EnPassantForm, san};

/// A record, and the game that has its position.
#[derive(Copy, Clone, Debug)]
pub struct Row<'a> {
    record: &'a EpdRecord,
    game: Option<(GamePosition<'a>, u64)>,
    table_row: Option<&'a TableRow>,
}

impl<'a> Row<'a> {
    /// A record that is not from a game.
    pub const fn new(record: &'a EpdRecord) -> Row<'a> {
        Row { record, game: None, table_row: None }
    }

    /// The same record as a position of a game. `number` counts the games of the table from 0.
    #[must_use]
    pub const fn of_game(self, position: GamePosition<'a>, number: u64) -> Row<'a> {
        Row { game: Some((position, number)), ..self }
    }

    /// The same record with the values of the row that it was read from, if it was read from a table.
    #[must_use]
    pub fn of_table(self, place: &'a Place) -> Row<'a> {
        Row { table_row: place.row.as_deref(), ..self }
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum RecordColumn {
    Fen,
    Board,
    Key,
    PolyglotKey,
    Centipawns,
    Mate,
    Depth,
    Knodes,
    Uci,
    Move16,
    Result,
    Ply,
    Game,
    Clock,
    Elapsed,
    Operation(&'static StandardOpcode),
    OtherOperations,
    FenCounters,
    ScoreView,
    Bitboard(Piece),
}

use RecordColumn as C;

/// The columns that a table has by default. Together they have everything of each record.
const DEFAULT_COLUMNS: [&str; 20] = [
    "fen",
    "key",
    "cp",
    "mate",
    "depth",
    "knodes",
    "move",
    "result",
    "ply",
    "game",
    "clock_ms",
    "elapsed_ms",
    "id",
    "c0",
    "eco",
    "am",
    "bm",
    "pv",
    "operations",
    "score_view",
];

impl Columns for RecordColumn {
    fn all() -> Vec<(String, Self, Kind, bool)> {
        let own = [
            ("fen", C::Fen, Kind::Text),
            ("board", C::Board, Kind::Bytes),
            ("key", C::Key, Kind::U64),
            ("polyglot_key", C::PolyglotKey, Kind::U64),
            ("cp", C::Centipawns, Kind::I32),
            ("mate", C::Mate, Kind::I16),
            ("depth", C::Depth, Kind::I32),
            ("knodes", C::Knodes, Kind::I64),
            ("move", C::Uci, Kind::Text),
            ("move16", C::Move16, Kind::U16),
            ("result", C::Result, Kind::Name),
            ("ply", C::Ply, Kind::I32),
            ("game", C::Game, Kind::U64),
            ("clock_ms", C::Clock, Kind::I64),
            ("elapsed_ms", C::Elapsed, Kind::I64),
        ];
        let mut all: Vec<_> =
            own.into_iter().map(|(name, own, kind)| (name.to_string(), own, kind)).collect();
        all.extend(
            StandardOpcode::ALL.iter().map(|entry| {
                (entry.opcode.to_string(), C::Operation(entry), kind_of(entry.operands))
            }),
        );
        all.push(("operations".to_string(), C::OtherOperations, Kind::Pairs));
        all.push(("fen_counters".to_string(), C::FenCounters, Kind::Flag));
        all.push(("score_view".to_string(), C::ScoreView, Kind::Name));
        for color in Color::ALL {
            for role in Role::ALL {
                let name = bitboard_name(color, role);
                all.push((name, C::Bitboard(Piece { color, role }), Kind::U64));
            }
        }
        let is_default = |name: &str| DEFAULT_COLUMNS.contains(&name);
        all.into_iter()
            .map(|(name, own, kind)| (name.clone(), own, kind, is_default(&name)))
            .collect()
    }

    fn is_score(self) -> bool {
        matches!(self, C::Centipawns | C::Mate)
    }

    /// The operations of a record are written in their order, before the other columns.
    fn is_put(self) -> bool {
        !matches!(self, C::Operation(_) | C::OtherOperations)
    }
}

/// `white_pawns` and the like.
fn bitboard_name(color: Color, role: Role) -> String {
    let color = match color {
        Color::White => "white",
        Color::Black => "black",
    };
    let role = match role {
        Role::Pawn => "pawns",
        Role::Knight => "knights",
        Role::Bishop => "bishops",
        Role::Rook => "rooks",
        Role::Queen => "queens",
        Role::King => "kings",
    };
    format!("{color}_{role}")
}

/// The type of the column of a standard opcode.
pub(super) const fn kind_of(operands: Operands) -> Kind {
    match operands {
        Operands::None => Kind::Flag,
        Operands::Integer(..) => Kind::I64,
        Operands::MoveSet | Operands::MoveLine => Kind::Texts,
        _ => Kind::Text,
    }
}

/// Writes the rows of the table of records.
#[derive(Debug)]
pub struct RecordRows {
    layout: Layout<RecordColumn>,
    /// The columns of standard opcodes, by the numbers of the opcodes. Empty if there are none.
    opcodes: Vec<Option<usize>>,
    /// The column of all other operations.
    others: Option<usize>,
    restored: RestoredOperations,
}

/// The operations that other columns of the table have, so that `operations` need not repeat them.
#[derive(Copy, Clone, Debug)]
struct RestoredOperations {
    ce: bool,
    acd: bool,
    acn: bool,
    sm: bool,
    c9: bool,
}

/// Whether [`EpdRecord::game_result`] looks at an opcode.
pub(super) fn may_have_result(opcode: Opcode) -> bool {
    (Opcode::C0..=Opcode::C9).contains(&opcode) || opcode == Opcode::PTP
}

impl RestoredOperations {
    fn new(layout: &Layout<RecordColumn>) -> RestoredOperations {
        let has = |wanted: RecordColumn| layout.columns.iter().any(|it| it.own == Some(wanted));
        RestoredOperations {
            ce: has(C::Centipawns) && has(C::Mate) && has(C::ScoreView),
            acd: has(C::Depth),
            acn: has(C::Knodes),
            sm: has(C::Uci),
            c9: has(C::Result),
        }
    }

    /// Whether an operation is exactly what is read from its other columns.
    fn has(self, row: &Row<'_>, operation: &Operation) -> bool {
        let record = row.record;
        match (operation.opcode, &operation.operands[..]) {
            (Opcode::CE, [Operand::Integer(ce)]) => {
                let white_view = false;
                let evaluation = match score_of(record) {
                    Some(Score::Centipawns(_)) => centipawns_of(record, white_view)
                        .map(|centipawns| Evaluation::Centipawns(centipawns as i64)),
                    _ => mate_of(record, white_view).map(|moves| Evaluation::Mate(moves as i64)),
                };
                let is_opponents = false;
                let restored = evaluation.and_then(|it| it.ce(is_opponents).ok());
                self.ce && restored.is_some_and(|restored| i128::from(restored) == *ce)
            }
            (Opcode::ACD, operands) => {
                let mut text = Vec::new();
                write_operands(operands, &mut text);
                let depth = depth_of(record).filter(|depth| i32::try_from(*depth).is_ok());
                self.acd && depth.is_some_and(|depth| depth.to_string().as_bytes() == text)
            }
            (Opcode::ACN, [Operand::Integer(nodes)]) => self.acn && nodes % 1000 == 0,
            (Opcode::SM, [Operand::Move { .. }]) => {
                let is_alone = |opcode| record.operands(opcode).is_none();
                self.sm && is_alone(Opcode::PM) && is_alone(Opcode::PV)
            }
            (Opcode::C9, [Operand::Str(text)]) => {
                let results = record.operations().iter().filter(|it| may_have_result(it.opcode));
                let is_result = result_of(row).is_some_and(|result| result.as_bytes() == &text[..]);
                self.c9 && is_result && results.count() == 1
            }
            _ => false,
        }
    }
}

impl RecordRows {
    /// The names of all columns of the table.
    pub fn all_columns() -> Vec<String> {
        all_names::<RecordColumn>()
    }

    /// The names of the columns that the table has by default.
    pub fn default_columns() -> Vec<String> {
        DEFAULT_COLUMNS.map(String::from).to_vec()
    }

    /// # Errors
    /// The errors of [`RecordTable::new`].
    pub fn new(options: &TableOptions, other: &OtherColumns<'_>) -> Result<RecordRows> {
        let layout: Layout<RecordColumn> = Layout::new(options, other)?;
        let mut opcodes: Vec<Option<usize>> = Vec::new();
        let mut others = None;
        for (place, column) in layout.columns.iter().enumerate() {
            match column.own {
                Some(C::Operation(entry)) => {
                    opcodes.resize(StandardOpcode::ALL.len(), None);
                    opcodes[usize::from(entry.number())] = Some(place);
                }
                Some(C::OtherOperations) => others = Some(place),
                _ => {}
            }
        }
        let restored = RestoredOperations::new(&layout);
        Ok(RecordRows { layout, opcodes, others, restored })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.layout.schema()
    }

    /// A batch without rows.
    pub fn batch(&self) -> Batch {
        self.layout.batch()
    }

    /// Writes the row of a record; `other` writes the other columns.
    ///
    /// # Errors
    /// A text of the record is not UTF-8.
    pub fn write(&self, row: &Row<'_>, other: &mut PutOther<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.write_operations(row, out)?;
        let white_view = self.layout.white_view;
        self.layout.write(out, other, |own, cell| put(own, cell, row, white_view));
        Ok(())
    }

    /// Writes a row without a record; `other` writes the other columns.
    pub fn write_missing(&self, other: &mut PutOther<'_>, out: &mut Vec<u8>) {
        self.layout.write(out, other, |_, _| {});
    }

    fn write_operations(&self, row: &Row<'_>, out: &mut Vec<u8>) -> Result<()> {
        let record = row.record;
        if self.opcodes.is_empty() && self.others.is_none() {
            return Ok(());
        }
        let place_of = |entry: &StandardOpcode| *self.opcodes.get(usize::from(entry.number()))?;
        if let Some(counters) = record.fen_counters() {
            self.write_counter(Opcode::HMVC, counters.halfmove_clock, out);
            self.write_counter(Opcode::FMVN, counters.fullmove_number, out);
        }
        let mut others = Vec::new();
        for operation in record.operations() {
            let entry = operation.opcode.standard();
            let place = entry.and_then(place_of);
            if place.is_none() && self.others.is_none() {
                continue;
            }
            match (entry.filter(|entry| fits(entry, operation)), place) {
                (Some(entry), Some(place)) => {
                    put_operation(self.layout.cell(place, out), entry, operation)?;
                }
                _ if self.restored.has(row, operation) => {}
                _ => others.push(operation),
            }
        }
        let Some(place) = self.others else { return Ok(()) };
        if others.is_empty() {
            return Ok(());
        }
        let texts = others.iter().map(|operation| {
            let mut text = Vec::new();
            write_operands(&operation.operands, &mut text);
            let text = String::from_utf8(text).map_err(|_| not_utf8(operation.opcode))?;
            Ok((operation.opcode.to_string(), text))
        });
        let texts = texts.collect::<Result<Vec<_>>>()?;
        self.layout.cell(place, out).pairs(&texts);
        Ok(())
    }

    /// Writes a counter of FEN into the column of its opcode.
    fn write_counter(&self, opcode: Opcode, counter: u32, out: &mut Vec<u8>) {
        let number = opcode.standard().map(|entry| usize::from(entry.number()));
        let place = number.and_then(|number| *self.opcodes.get(number)?);
        if let Some(place) = place {
            self.layout.cell(place, out).whole(counter.into());
        }
    }
}

/// The table of records.
pub struct RecordTable(Table<RecordRows>);

impl fmt::Debug for RecordTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordTable").field(&self.schema()).finish()
    }
}

impl RecordTable {
    /// A table without rows.
    ///
    /// # Errors
    /// A column does not belong to the table, or is named twice.
    pub fn new(options: &TableOptions) -> Result<RecordTable> {
        let rows = RecordRows::new(options, &unknown)?;
        let batch = rows.batch();
        Ok(RecordTable(Table::new(rows, batch)))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.0.rows.schema()
    }

    /// Appends a record.
    ///
    /// # Errors
    /// A text of the record is not UTF-8.
    pub fn push(&mut self, row: &Row<'_>) -> Result<()> {
        self.0.push(|rows, out| rows.write(row, &mut |_, _| {}, out))
    }

    /// Returns the rows so far as a batch, and starts the next batch.
    ///
    /// # Errors
    /// Arrow refuses the batch.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.0.finish()
    }
}

fn not_utf8(opcode: Opcode) -> Error {
    Error::new(format!(
        "the operand of `{opcode}` is not UTF-8, and a table has only UTF-8: give the encoding of the \
         file"
    ))
}

fn put(own: RecordColumn, mut cells: CellWriter<'_>, row: &Row<'_>, white_view: bool) {
    let record = row.record;
    let position = record.position();
    match own {
        C::Fen => cells.text_by(|out| write_fen(record, out)),
        C::Board => cells.bytes(packed::encode(position).as_bytes()),
        C::Key => cells.whole(position_key(position).into()),
        C::PolyglotKey => cells.whole(polyglot_key(position).into()),
        C::Centipawns => put_number(cells, centipawns_of(record, white_view)),
        C::Mate => put_number(cells, mate_of(record, white_view)),
        C::Depth => put_number(cells, depth_of(record)),
        C::Knodes => put_number(cells, knodes_of(record)),
        C::Uci => {
            if let Some(mv) = move_of(record) {
                cells.text_by(|out| san::write_uci(position, mv, out));
            }
        }
        C::Move16 => {
            put_number(cells, move_of(record).map(|mv| BookMove::from(mv).bits().into()));
        }
        C::Result => {
            if let Some(result) = result_of(row) {
                cells.text(result);
            }
        }
        C::Ply => {
            let number = record.counters().1.filter(|number| *number > 0);
            let is_black = i128::from(position.turn() == Color::Black);
            let ply = number.map(|number| 2 * (i128::from(number) - 1) + is_black);
            put_number(cells, of_table(row, |it| it.ply.map(i128::from)).or(ply));
        }
        C::Game => {
            let number = row.game.map(|(_, number)| number.into());
            put_number(cells, number.or_else(|| of_table(row, |it| it.game.map(i128::from))));
        }
        C::Clock => {
            let clock = row.game.and_then(|(position, _)| position.clock_ms());
            let clock = clock.map(i128::from);
            put_number(cells, clock.or_else(|| of_table(row, |it| it.clock_ms.map(i128::from))));
        }
        C::Elapsed => {
            let elapsed = row.game.and_then(|(position, _)| position.elapsed_ms());
            let elapsed = elapsed.map(i128::from);
            let in_table = || of_table(row, |it| it.elapsed_ms.map(i128::from));
            put_number(cells, elapsed.or_else(in_table));
        }
        C::FenCounters => {
            if record.fen_counters().is_some() {
                cells.flag(true);
            }
        }
        C::ScoreView => {
            if score_of(record).is_some() {
                cells.text(view_name(white_view));
            }
        }
        C::Bitboard(Piece { color, role }) => {
            cells.whole(position.board().pieces(color, role).0.into());
        }
        C::Operation(_) | C::OtherOperations => {}
    }
}

/// A value of the row of a table from which the record was read.
fn of_table<T>(row: &Row<'_>, value: impl FnOnce(&TableRow) -> Option<T>) -> Option<T> {
    row.table_row.and_then(value)
}

fn put_number(mut cells: CellWriter<'_>, number: Option<i128>) {
    if let Some(number) = number {
        cells.whole(number);
    }
}

/// The depth of the analysis. `acd` is not a standard opcode, so its operand is text.
pub(super) fn depth_of(record: &EpdRecord) -> Option<i128> {
    std::str::from_utf8(&record.text_of(Opcode::ACD)?).ok()?.parse().ok()
}

/// Thousands of nodes of the analysis, rounded down.
pub(super) fn knodes_of(record: &EpdRecord) -> Option<i128> {
    Some(record.integer(Opcode::ACN)? / 1000)
}

fn score_of(record: &EpdRecord) -> Option<Score> {
    Score::from_ce(record.integer(Opcode::CE)?).ok()
}

/// The evaluation in centipawns, unless it is a mate.
pub(super) fn centipawns_of(record: &EpdRecord, white_view: bool) -> Option<i128> {
    match score_of(record)? {
        Score::Centipawns(score) => Some(seen(score.into(), record, white_view)),
        _ => None,
    }
}

/// The number of moves to mate. It is below 0 if the side from whose view the score is gets mated.
pub(super) fn mate_of(record: &EpdRecord, white_view: bool) -> Option<i128> {
    let score = score_of(record)?;
    let moves = i128::from(score.full_moves()?);
    let moves = if matches!(score, Score::Mates(_)) { moves } else { -moves };
    Some(seen(moves, record, white_view))
}

/// A value from the mover's view, or from White's.
fn seen(value: i128, record: &EpdRecord, white_view: bool) -> i128 {
    let is_turned = white_view && record.position().turn() == Color::Black;
    if is_turned { -value } else { value }
}

/// The move of the record: `sm`, or else `pm`, or else the first move of `pv`.
fn move_of(record: &EpdRecord) -> Option<Move> {
    let first = |opcode| match record.operands(opcode)?.first()? {
        Operand::Move { mv, .. } => Some(*mv),
        _ => None,
    };
    [Opcode::SM, Opcode::PM, Opcode::PV].into_iter().find_map(first)
}

/// The result of the game, if it is known.
fn result_of(row: &Row<'_>) -> Option<&'static str> {
    let in_table = of_table(row, |row| GameResult::from_text(row.result?.as_bytes()));
    let result = match (row.game, in_table) {
        (Some((position, _)), _) => position.game().result(),
        (None, Some(result)) => result,
        (None, None) => row.record.game_result()?,
    };
    (result != GameResult::Unknown).then_some(result.as_str())
}

/// Writes the fields of FEN: six if both counters are known, or else four.
fn write_fen(record: &EpdRecord, out: &mut Vec<u8>) {
    let castling = match record.dialect() {
        CastlingDialect::Shredder => CastlingForm::Shredder,
        CastlingDialect::XFen => CastlingForm::XFen,
    };
    let counters = match record.counters() {
        (Some(halfmove_clock), Some(fullmove_number)) => {
            CounterText::Fields(Counters { halfmove_clock, fullmove_number })
        }
        _ => CounterText::None,
    };
    let en_passant = EnPassantForm::Keep;
    fields::write_with_counters(record.position(), castling, en_passant, counters, out);
}

/// Whether the operands fit the column of a standard opcode.
fn fits(entry: &StandardOpcode, operation: &Operation) -> bool {
    let operands = &operation.operands[..];
    let is_utf8 = |operand: &Operand| match operand {
        Operand::Str(text) => std::str::from_utf8(text).is_ok(),
        _ => true,
    };
    let is_move = |operand: &Operand| matches!(operand, Operand::Move { .. } | Operand::Token(_));
    match (entry.operands, operands) {
        (Operands::None, []) => true,
        (Operands::Integer(..), [Operand::Integer(value)]) => i64::try_from(*value).is_ok(),
        (Operands::MoveSet | Operands::MoveLine, [_, ..]) => operands.iter().all(is_move),
        (Operands::Move, [operand]) => is_move(operand),
        (Operands::Str { .. } | Operands::KeptGames, [operand @ Operand::Str(_)]) => {
            is_utf8(operand)
        }
        (Operands::Tally, [Operand::Tally(_)]) => true,
        (
            Operands::TwoStrings
            | Operands::Clocks
            | Operands::Timestamp
            | Operands::TagPairs
            | Operands::Identifier(_)
            | Operands::Any,
            _,
        ) => operands.iter().all(is_utf8),
        _ => false,
    }
}

/// Writes the operands of a standard opcode, which fit its column.
fn put_operation(
    mut cells: CellWriter<'_>,
    entry: &StandardOpcode,
    operation: &Operation,
) -> Result<()> {
    match (entry.operands, &operation.operands[..]) {
        (Operands::None, _) => cells.flag(true),
        (Operands::Integer(..), [Operand::Integer(value)]) => cells.whole(*value),
        (Operands::MoveSet | Operands::MoveLine, operands) => {
            cells.texts_by(operands, Operand::write_text);
        }
        (
            Operands::Str { .. } | Operands::KeptGames | Operands::Tally | Operands::Move,
            [operand],
        ) => cells.text_by(|out| operand.write_text(out)),
        (_, operands) => {
            let mut text = Vec::new();
            write_operands(operands, &mut text);
            let text = String::from_utf8(text).map_err(|_| not_utf8(operation.opcode))?;
            cells.text(&text);
        }
    }
    Ok(())
}

/// Writes operands as in EPD, separated by blanks.
fn write_operands(operands: &[Operand], out: &mut Vec<u8>) {
    for (number, operand) in operands.iter().enumerate() {
        if number > 0 {
            out.push(b' ');
        }
        operand.write_to(out);
    }
}
