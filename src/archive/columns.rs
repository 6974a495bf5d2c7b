//! Rows. A row is the position of a record as thirteen numbers. These are the columns that an
//! archive codes.

use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use epdb_chess::model::rules::{Move, is_zeroing};
use epdb_chess::model::{
    Board, Castling, CastlingDialect, Color, Counters, EpdRecord, Opcode, Operand, Operation,
    Position, Role, Side, Square, en_passant_rank,
};
use epdb_chess::text::fields::{
    CLASSIC, CastlingText, CounterText, Letters, Line, Placement, side_letter,
};

pub(super) const COLUMNS: usize = 13;
/// Index of the column of the form: dialect of castling rights, flags for operations and counters.
pub(super) const FORM: usize = 0;
/// Index of the column with side to move and castling rights.
pub(super) const STATE: usize = 1;
/// Index of the first of eight rank columns: numbers of eight nibbles, the a-file lowest.
pub(super) const RANKS: usize = 2;
/// Index of the column of the file of the en passant square: 0 if there is none, 1 for the a-file.
pub(super) const EN_PASSANT: usize = 10;
/// Index of the column with the fullmove number. Its value is 0 if there is no fullmove number.
pub(super) const FULLMOVE: usize = 11;
/// Index of the column with the halfmove clock.
pub(super) const HALFMOVE: usize = 12;

pub(super) fn is_rank(column: usize) -> bool {
    (RANKS..EN_PASSANT).contains(&column)
}

pub(super) const NAMES: [&str; COLUMNS] = [
    "form",
    "side to move and castling",
    "rank 1",
    "rank 2",
    "rank 8",
    "rank 7",
    "rank 3",
    "rank 6",
    "rank 4",
    "rank 5",
    "en passant",
    "fullmove number",
    "halfmove clock",
];

/// The rank, 0 to 7, of each rank column. The back ranks come first, because pieces that are
/// missing there are usually on the ranks in the middle.
pub(super) const RANK_ORDER: [usize; 8] = [0, 1, 7, 6, 2, 5, 3, 4];

const COLUMN_OF_RANK: [usize; 8] = [2, 3, 6, 8, 9, 7, 5, 4];

/// Letters of the codes 1 to 12 of a nibble. Other codes have no letter, and no valid row has them.
static LETTERS: Letters = Letters::new(*b"\0PNBRQKpnbrqk\0\0\0");
const ROLES: [Role; 6] =
    [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King];
const KING: u32 = 6;
const ROOK: u32 = 4;
/// Difference of the codes of a black and a white piece.
const BLACK: u32 = 6;

/// Bit 0 of the state: Black is to move. Four bits follow, one for each right in FEN's order.
const BLACK_TO_MOVE: u32 = 1;
const RIGHTS_SHIFT: u32 = 1;
const RIGHTS_BITS: u32 = 16;
/// A castling right with the outermost rook.
const OUTERMOST: u32 = 1;
/// A right with a rook that is not the outermost is coded as this number plus the file of the rook.
const EXPLICIT: u32 = 2;
/// All four rights of outermost rooks.
const ALL_OUTERMOST: u32 = 0x1111 * OUTERMOST;

/// Bit of the form: the castling field has Shredder's letters.
const SHREDDER: u32 = 1;
/// Bit of the form: the record has operations other than counters.
const OPERATIONS: u32 = 2;
/// Shift of the [`CounterPlace`] in the form.
const COUNTERS_SHIFT: u32 = 2;

/// Place of the counters in a record.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum CounterPlace {
    None,
    Fields,
    BothOperations,
    Hmvc,
    Fmvn,
}

impl CounterPlace {
    const fn has_clock(self) -> bool {
        !matches!(self, CounterPlace::None | CounterPlace::Fmvn)
    }

    const fn has_number(self) -> bool {
        !matches!(self, CounterPlace::None | CounterPlace::Hmvc)
    }
}

const PLACES: [CounterPlace; 5] = [
    CounterPlace::None,
    CounterPlace::Fields,
    CounterPlace::BothOperations,
    CounterPlace::Hmvc,
    CounterPlace::Fmvn,
];

/// The columns of one record, in the order of coding.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Row(pub(super) [u32; COLUMNS]);

impl Row {
    /// Makes the row of a record. The row holds no operations except the counters.
    pub(super) fn from_record(record: &EpdRecord) -> Row {
        let mut row = Row::from_position(record.position());
        let place = row.take_counters(record);
        let is_shredder = record.dialect() == CastlingDialect::Shredder;
        let has_operations = record.operations().iter().any(is_left(record));
        row.0[FORM] = (place as u32) << COUNTERS_SHIFT
            | if is_shredder { SHREDDER } else { 0 }
            | if has_operations { OPERATIONS } else { 0 };
        row
    }

    /// The row of a record with operations, without its position.
    pub(super) const OF_OPERATIONS: Row = {
        let mut row = Row([0; COLUMNS]);
        row.0[FORM] = OPERATIONS;
        row
    };

    /// Makes the row of a record that has this position and operations, but no counters.
    pub(super) fn with_operations(position: &Position) -> Row {
        let mut row = Row::from_record(&EpdRecord::new(*position));
        row.0[FORM] |= OPERATIONS;
        row
    }

    /// Appends the bytes of rows for a checksum.
    pub(super) fn put_bytes(rows: &[Row], out: &mut Vec<u8>) {
        rows.iter().for_each(|row| out.extend_from_slice(row.0.map(U32::from).as_bytes()));
    }

    /// Returns the row of `next`, the position after a move from the position of this row. The new
    /// row has the same form, and its counters are advanced.
    pub(super) fn after(&self, position: &Position, mv: Move, next: &Position) -> Row {
        let mut row = *self;
        let mut changed = position.board().differences(next.board());
        while changed != 0 {
            let rank = changed.trailing_zeros() / 8;
            let file = changed.trailing_zeros() % 8;
            let piece = next.board().piece_at(Square::at(file as u8, rank as u8));
            let code = piece.map_or(0, |piece| piece_code(piece.role as u32 + 1, piece.color));
            let codes = &mut row.0[COLUMN_OF_RANK[rank as usize]];
            *codes = *codes & !(15 << (4 * file)) | code << (4 * file);
            changed &= changed - 1;
        }
        row.put_fields(next);
        let place = self.counter_place().unwrap_or(CounterPlace::None);
        row.0[HALFMOVE] = if place.has_clock() && !is_zeroing(position, mv) {
            self.0[HALFMOVE].saturating_add(1)
        } else {
            0
        };
        let is_black = position.turn() == Color::Black;
        row.0[FULLMOVE] =
            if place.has_number() { self.0[FULLMOVE].saturating_add(is_black.into()) } else { 0 };
        row
    }

    /// Returns the row with the board turned upside down and the colours exchanged. The side to
    /// move and the rights are exchanged too. If any row is flipped twice, the result is the same
    /// row.
    pub(super) fn flipped(&self) -> Row {
        let mut row = *self;
        for (rank, column) in COLUMN_OF_RANK.into_iter().enumerate() {
            row.0[column] = with_other_colors(self.rank(7 - rank));
        }
        let state = self.0[STATE] ^ BLACK_TO_MOVE;
        let rights = state >> RIGHTS_SHIFT;
        let exchanged = (rights & !0xffff) | (rights << 8 & 0xff00) | (rights >> 8 & 0xff);
        row.0[STATE] = exchanged << RIGHTS_SHIFT | state & BLACK_TO_MOVE;
        row
    }

    /// Number of leading columns that two rows have in common.
    pub(super) fn in_common(&self, other: &Row) -> usize {
        self.0.iter().zip(&other.0).take_while(|(a, b)| a == b).count()
    }

    /// Returns the squares that are occupied according to rank columns.
    pub(super) fn squares(columns: impl Iterator<Item = u32>) -> u64 {
        let ranks = columns.zip(RANK_ORDER);
        ranks.fold(0, |set, (codes, rank)| set | u64::from(occupied(codes)) << (8 * rank))
    }

    /// The rank columns.
    pub(super) fn pieces(&self) -> &[u32] {
        &self.0[RANKS..EN_PASSANT]
    }

    pub(super) fn has_pieces_of(&self, other: &Row) -> bool {
        self.pieces() == other.pieces()
    }

    /// True if the other row has the same position, and this row may have a position.
    pub(super) fn has_position_of(&self, other: &Row) -> bool {
        self.0[STATE..FULLMOVE] == other.0[STATE..FULLMOVE] && self.has_right_state()
    }

    /// True if the other row has the same pieces, side to move and rights.
    pub(super) fn has_same_board(&self, other: &Row) -> bool {
        self.0[STATE..EN_PASSANT] == other.0[STATE..EN_PASSANT]
    }

    /// Makes the row of a position, without operations and counters.
    pub(super) fn from_position(position: &Position) -> Row {
        let board = position.board();
        let mut row = Row::default();
        let mut bits = [0; 4];
        for color in Color::ALL {
            for (code, role) in (1..).zip(ROLES) {
                let code = piece_code(code, color);
                let pieces = board.pieces(color, role).bits();
                for (place, bits) in bits.iter_mut().enumerate() {
                    *bits |= if code >> place & 1 == 1 { pieces } else { 0 };
                }
            }
        }
        for (rank, column) in COLUMN_OF_RANK.into_iter().enumerate() {
            let codes = bits.map(|bits: u64| LOWEST_BITS[usize::from((bits >> (8 * rank)) as u8)]);
            row.0[column] = codes[0] | codes[1] << 1 | codes[2] << 2 | codes[3] << 3;
        }
        row.put_fields(position);
        row
    }

    /// Sets the columns of a position other than the ranks, which are already set.
    fn put_fields(&mut self, position: &Position) {
        let mut state = u32::from(position.turn() == Color::Black);
        let homes = Color::ALL.map(|color| self.home(color));
        for (nth, (color, side)) in rights().enumerate() {
            if let Some(file) = position.castling().rook(color, side) {
                let code = match homes[color as usize].outermost(side) {
                    Some(outermost) if outermost == file => OUTERMOST,
                    _ => EXPLICIT + u32::from(file),
                };
                state |= code << (RIGHTS_SHIFT + 4 * nth as u32);
            }
        }
        self.0[STATE] = state;
        self.0[EN_PASSANT] = position.en_passant().map_or(0, |square| u32::from(square.file()) + 1);
    }

    fn take_counters(&mut self, record: &EpdRecord) -> CounterPlace {
        let (place, hmvc, fmvn) = match (record.fen_counters(), counter_operations(record)) {
            (Some(counters), _) => {
                (CounterPlace::Fields, counters.halfmove_clock, counters.fullmove_number)
            }
            (None, (Some(hmvc), Some(fmvn))) => (CounterPlace::BothOperations, hmvc, fmvn),
            (None, (Some(hmvc), None)) => (CounterPlace::Hmvc, hmvc, 0),
            (None, (None, Some(fmvn))) => (CounterPlace::Fmvn, 0, fmvn),
            (None, (None, None)) => (CounterPlace::None, 0, 0),
        };
        self.0[HALFMOVE] = hmvc;
        self.0[FULLMOVE] = fmvn;
        place
    }

    /// True if the record has operations other than counters.
    pub(super) const fn has_operations(&self) -> bool {
        self.0[FORM] & OPERATIONS != 0
    }

    pub(super) const fn change_operations(&mut self) {
        self.0[FORM] ^= OPERATIONS;
    }

    const fn turn(&self) -> Color {
        if self.0[STATE] & BLACK_TO_MOVE != 0 { Color::Black } else { Color::White }
    }

    const fn right(&self, nth: usize) -> u32 {
        self.0[STATE] >> (RIGHTS_SHIFT + 4 * nth as u32) & 15
    }

    const fn rank(&self, rank: usize) -> u32 {
        self.0[COLUMN_OF_RANK[rank]]
    }

    /// Place of the counters. `None` if the form is invalid or excludes the row's counters.
    fn counter_place(&self) -> Option<CounterPlace> {
        let place = *PLACES.get((self.0[FORM] >> COUNTERS_SHIFT) as usize)?;
        let clock_is_right = place.has_clock() || self.0[HALFMOVE] == 0;
        let number_is_right = place.has_number() == (self.0[FULLMOVE] > 0);
        (clock_is_right && number_is_right).then_some(place)
    }

    /// True if the state has only defined bits, and some right if the form has Shredder's letters.
    const fn has_right_state(&self) -> bool {
        let rights = self.0[STATE] >> RIGHTS_SHIFT;
        rights >> RIGHTS_BITS == 0 && (self.0[FORM] & SHREDDER == 0 || rights != 0)
    }

    /// The record, without operations that are not counters. `None` if no record has this row.
    pub(super) fn record(&self) -> Option<EpdRecord> {
        let mut record = EpdRecord::new(self.position()?);
        if self.0[FORM] & SHREDDER != 0 {
            record.set_dialect(CastlingDialect::Shredder);
        }
        let halfmove_clock = self.0[HALFMOVE];
        let fullmove_number = self.0[FULLMOVE];
        let place = self.counter_place()?;
        if place == CounterPlace::Fields {
            record.set_fen_counters(Some(Counters { halfmove_clock, fullmove_number }));
        }
        if matches!(place, CounterPlace::BothOperations | CounterPlace::Hmvc) {
            record.set(counter_operation(Opcode::HMVC, halfmove_clock));
        }
        if matches!(place, CounterPlace::BothOperations | CounterPlace::Fmvn) {
            record.set(counter_operation(Opcode::FMVN, fullmove_number));
        }
        Some(record)
    }

    /// The position; `None` if no position has this row.
    pub(super) fn position(&self) -> Option<Position> {
        if !self.has_right_state() {
            return None;
        }
        let board = self.board()?;
        let mut castling = Castling::NONE;
        for (nth, (color, side)) in rights().enumerate() {
            let outermost = self.home(color).outermost(side);
            let file = match self.right(nth) {
                0 => continue,
                OUTERMOST => outermost?,
                code => (code - EXPLICIT) as u8,
            };
            // The right of the outermost rook has only one code.
            if self.right(nth) != OUTERMOST && outermost == Some(file) {
                return None;
            }
            castling.set(color, side, Some(file));
        }
        Position::new(board, self.turn(), castling, self.en_passant()?).ok()
    }

    /// The en passant square, if any; `None` for an invalid file.
    fn en_passant(&self) -> Option<Option<Square>> {
        match self.0[EN_PASSANT] {
            0 => Some(None),
            file @ 1..=8 => Some(Some(Square::at(file as u8 - 1, en_passant_rank(self.turn())))),
            _ => None,
        }
    }

    /// The placement; `None` for invalid codes.
    fn board(&self) -> Option<Board> {
        let mut planes = [0_u64; 4];
        for rank in 0..8 {
            let codes = self.rank(rank);
            for (place, plane) in planes.iter_mut().enumerate() {
                *plane |= u64::from(lowest_bits(codes >> place)) << (8 * rank);
            }
        }
        let sets: [u64; 12] = std::array::from_fn(|index| {
            let code = index + 1;
            let is_set =
                |place: usize| if code >> place & 1 == 1 { planes[place] } else { !planes[place] };
            (0..4).map(is_set).fold(!0, |set, other| set & other)
        });
        let pieces = sets.iter().fold(0, |all, set| all | set);
        let occupied = planes.iter().fold(0, |all, plane| all | plane);
        if pieces == occupied { Some(Board::from_sets(&sets)) } else { None }
    }

    /// Appends the record as canonical text without line end. Returns `None` if no record has this
    /// row, or if it has operations other than counters. The checks are those of [`Row::position`].
    pub(super) fn write_text(&self, out: &mut Vec<u8>) -> Option<()> {
        if self.has_operations() {
            return None;
        }
        let en_passant = self.en_passant()?;
        let ranks = self.ranks()?;
        let line = Line {
            placement: Placement::Ranks {
                occupied: u64::from_le_bytes(ranks.map(occupied)),
                ranks: &ranks,
                letters: &LETTERS,
            },
            turn: self.turn(),
            castling: self.castling_text()?,
            en_passant,
            counters: self.counter_text()?,
        };
        line.write(out);
        Some(())
    }

    /// The eight ranks from rank 1 on; `None` if they have invalid codes.
    fn ranks(&self) -> Option<[u32; 8]> {
        let ranks = std::array::from_fn(|rank| self.rank(rank));
        let wrong = ranks.iter().fold(0, |wrong, &rank| wrong | no_pieces(rank));
        (wrong == 0).then_some(ranks)
    }

    fn castling_text(&self) -> Option<CastlingText> {
        if !self.has_right_state() {
            return None;
        }
        let set = self.0[STATE] >> RIGHTS_SHIFT;
        if set == 0 {
            return Some(CastlingText::NONE);
        }
        let homes = Color::ALL.map(|color| self.home(color));
        if set & !ALL_OUTERMOST == 0 {
            // The lowest bits of four codes, side by side.
            let rights = (set | set >> 3 | set >> 6 | set >> 9) as u8 & 15;
            let possible = homes[0].sides() | homes[1].sides() << 2;
            return (rights & !possible == 0).then(|| CLASSIC[usize::from(rights)]);
        }
        let mut text = CastlingText::NONE;
        for (nth, (color, side)) in rights().enumerate() {
            let home = &homes[usize::from(color == Color::Black)];
            let letter = match self.right(nth) {
                0 => continue,
                right => home.letter(side, right)?,
            };
            text.push(color, letter);
        }
        Some(text)
    }

    /// The back rank of a colour. The result has a king only if the colour has exactly one king and
    /// it is on the back rank.
    fn home(&self, color: Color) -> Home {
        let home = Home::new(self.rank(color.back_rank().into()), color);
        let king = piece_code(KING, color);
        // Number of kings on each file.
        let kings: u32 =
            self.0[RANKS..EN_PASSANT].iter().map(|&rank| squares_with(rank, king)).sum();
        let is_one = kings.is_power_of_two() && kings & LOWEST_BITS[255] != 0;
        Home { king: if is_one { home.king } else { 0 }, ..home }
    }

    fn counter_text(&self) -> Option<CounterText> {
        let halfmove_clock = self.0[HALFMOVE];
        let fullmove_number = self.0[FULLMOVE];
        let place = self.counter_place()?;
        Some(match place {
            CounterPlace::None => CounterText::None,
            CounterPlace::Fields => {
                CounterText::Fields(Counters { halfmove_clock, fullmove_number })
            }
            _ => CounterText::Operations {
                halfmove_clock: place.has_clock().then_some(halfmove_clock),
                fullmove_number: place.has_number().then_some(fullmove_number),
            },
        })
    }
}

/// For each set of files, the eight codes of a rank in a `u32`: 1 on these files and 0 on the others.
static LOWEST_BITS: [u32; 256] = {
    let mut table = [0; 256];
    let mut place = 0;
    while place < 256 * 8 {
        let files = place / 8;
        let file = place % 8;
        table[files] |= (files as u32 >> file & 1) << (4 * file);
        place += 1;
    }
    table
};

/// The occupied files of a rank.
pub(super) const fn occupied(rank: u32) -> u8 {
    lowest_bits(rank | rank >> 1 | rank >> 2 | rank >> 3)
}

/// The files of a rank where the lowest bit of the code is set.
const fn lowest_bits(rank: u32) -> u8 {
    let set = rank & 0x1111_1111;
    let pairs = (set | set >> 3) & 0x0303_0303;
    let fours = (pairs | pairs >> 6) & 0x000f_000f;
    (fours | fours >> 12) as u8
}

/// The files (a to h) of those squares of a rank that have a code.
const fn files_with(rank: u32, code: u32) -> u8 {
    !occupied(rank ^ (0x1111_1111 * code))
}

/// Does the same as [`files_with`], but returns the files as the lowest bits of nibbles.
const fn squares_with(rank: u32, code: u32) -> u32 {
    let others = rank ^ (0x1111_1111 * code);
    !(others | others >> 1 | others >> 2 | others >> 3) & 0x1111_1111
}

/// Returns a mask of a rank. In it, all bits are set in each nibble that is not a valid code.
pub(super) const fn no_pieces(rank: u32) -> u32 {
    (rank & rank << 1 & (rank << 2 | rank << 3) & 0x8888_8888) / 8 * 15
}

/// A rank with the colours exchanged; codes that are not pieces stay.
pub(super) fn with_other_colors(rank: u32) -> u32 {
    u32::from_le_bytes(rank.to_le_bytes().map(|byte| OTHER_COLORS[usize::from(byte)]))
}

/// Result of [`with_other_colors`] for each byte, which is two codes.
static OTHER_COLORS: [u8; 256] = {
    const fn other(code: usize) -> u8 {
        match code {
            1..=6 => code as u8 + BLACK as u8,
            7..=12 => code as u8 - BLACK as u8,
            _ => code as u8,
        }
    }
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = other(byte & 15) | other(byte >> 4) << 4;
        byte += 1;
    }
    table
};

/// The four rights in FEN's order.
fn rights() -> impl Iterator<Item = (Color, Side)> {
    Color::ALL.into_iter().flat_map(|color| Side::ALL.map(|side| (color, side)))
}

const fn piece_code(code: u32, color: Color) -> u32 {
    code + BLACK * color as u32
}

/// King and rooks of a colour on its back rank; each set has a bit for each file.
struct Home {
    /// The lowest file from b to g with a king, as a bit; 0 without such a king. A king on the a or h
    /// file has no right.
    king: u8,
    rooks: u8,
}

impl Home {
    fn new(rank: u32, color: Color) -> Home {
        let kings = files_with(rank, piece_code(KING, color)) & 0x7e;
        let rooks = files_with(rank, piece_code(ROOK, color));
        Home { king: kings & kings.wrapping_neg(), rooks }
    }

    /// The rooks on a side of the king.
    const fn rooks(&self, side: Side) -> u8 {
        match side {
            Side::King => self.rooks & self.king.wrapping_neg() & !self.king,
            Side::Queen => self.rooks & self.king.saturating_sub(1),
        }
    }

    /// The file of the outermost rook on a side; `None` if there is no rook.
    fn outermost(&self, side: Side) -> Option<u8> {
        let rooks = self.rooks(side);
        let file = match side {
            Side::King => rooks.checked_ilog2()?,
            Side::Queen => rooks.trailing_zeros(),
        };
        (rooks != 0).then_some(file as u8)
    }

    /// The sides of the king on which it has a rook: bit 0 is the king's side, bit 1 the queen's side.
    const fn sides(&self) -> u8 {
        (self.rooks(Side::King) != 0) as u8 | ((self.rooks(Side::Queen) != 0) as u8) << 1
    }

    /// The letter of a right, in upper case.
    fn letter(&self, side: Side, right: u32) -> Option<u8> {
        let outermost = self.outermost(side)?;
        match right.checked_sub(EXPLICIT) {
            None => Some(side_letter(side)),
            Some(file) => {
                let is_rook = u32::from(self.rooks(side)) >> file & 1 == 1;
                (is_rook && file != u32::from(outermost)).then_some(b'A' + file as u8)
            }
        }
    }
}

/// The values of `hmvc` and `fmvn`; `None` if there is none or a row cannot hold it.
fn counter_operations(record: &EpdRecord) -> (Option<u32>, Option<u32>) {
    let value = |opcode| {
        let [Operand::Integer(value)] = record.operands(opcode)? else { return None };
        u32::try_from(*value).ok()
    };
    (value(Opcode::HMVC), value(Opcode::FMVN).filter(|&number| number > 0))
}

fn counter_operation(opcode: Opcode, value: u32) -> Operation {
    Operation { opcode, operands: vec![Operand::Integer(value.into())] }
}

/// The operations of a record that its row does not hold.
pub(super) fn into_operations(record: EpdRecord) -> Vec<Operation> {
    let is_left = is_left(&record);
    let mut operations = record.into_operations();
    operations.retain(is_left);
    operations
}

/// Returns a function that is true for the operations that are not in the row of a record. These
/// are all operations except the counters.
fn is_left(record: &EpdRecord) -> impl Fn(&Operation) -> bool + use<> {
    let (hmvc, fmvn) = counter_operations(record);
    let has_hmvc = hmvc.is_some();
    let has_fmvn = fmvn.is_some();
    move |operation| match operation.opcode {
        Opcode::HMVC => !has_hmvc,
        Opcode::FMVN => !has_fmvn,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn row(line: &str) -> Row {
        Row::from_record(&epdb_chess::parse_epd(line.as_bytes()).unwrap())
    }

    #[test]
    fn flipped_rows_are_those_of_flipped_positions() {
        for (line, flipped) in [
            (
                "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
                "rnbqkbnr/pppp1ppp/8/4p3/8/8/PPPPPPPP/RNBQKBNR w KQkq e6 0 1",
            ),
            ("4k3/8/8/8/8/8/8/4KR1R w F - 3 9", "4kr1r/8/8/8/8/8/8/4K3 b f - 3 9"),
            ("r3k2r/8/8/8/8/8/p7/4K3 w q -", "4k3/P7/8/8/8/8/8/R3K2R b Q -"),
        ] {
            assert_eq!(row(line).flipped(), row(flipped), "{line}");
            assert_eq!(row(flipped).flipped(), row(line), "{line}");
        }
        let any = Row(std::array::from_fn(|column| 0x9e37_79b9_u32.rotate_left(5 * column as u32)));
        assert_eq!(any.flipped().flipped(), any);
        assert_ne!(any.flipped(), any);
    }

    /// Rows that no writer produces are refused by every way of reading.
    #[test]
    fn rows_that_contradict_their_form_are_refused() {
        let start = row("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3 7");
        let bare = row("4k3/8/8/8/8/8/4P3/4K3 w - -");
        let inner = row("4k3/8/8/8/8/8/8/4KR1R w F -");
        assert!([start, bare, inner].iter().all(|row| row.record().is_some()));
        let with = |mut row: Row, column: usize, value: u32| {
            row.0[column] = value;
            row
        };
        for wrong in [
            with(bare, HALFMOVE, 1),
            with(bare, FULLMOVE, 1),
            with(start, FULLMOVE, 0),
            with(start, FORM, 5 << COUNTERS_SHIFT),
            with(start, FORM, 3 << COUNTERS_SHIFT),
            with(start, STATE, start.0[STATE] | 1 << 17),
            with(bare, FORM, SHREDDER),
            // The outermost rook named by its file, and a square without a rook.
            with(inner, STATE, (EXPLICIT + 7) << RIGHTS_SHIFT),
            with(inner, STATE, (EXPLICIT + 6) << RIGHTS_SHIFT),
            // A file beyond h.
            with(inner, STATE, (EXPLICIT + 13) << RIGHTS_SHIFT),
            with(start, EN_PASSANT, 9),
            with(bare, RANKS, 13),
        ] {
            assert_eq!(wrong.record(), None, "{wrong:?}");
            assert_eq!(wrong.write_text(&mut Vec::new()), None, "{wrong:?}");
        }
    }
}
