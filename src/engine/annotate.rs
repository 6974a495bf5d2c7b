//! Annotates games with engine analysis: evaluations as comments, better lines as variations.

use epdb_chess::model::rules::Move;
use epdb_chess::model::score::{Score, child_to_parent};
use epdb_chess::model::{BuildError, Element, EpdRecord, Game, GameBuilder, Opcode, Operand};
use epdb_chess::text::pgn::evaluation_comment;

/// The positions of the main line of a game, from its start to its end or its first null move.
///
/// ```
/// use epdb_engine::positions_of;
/// use epdb_chess::model::GameBuilder;
/// let mut builder = GameBuilder::new();
/// builder.play("e2e4".parse()?)?;
/// let positions = positions_of(&builder.finish()?);
/// assert_eq!(positions.len(), 2);
/// assert_eq!(positions[1].fen_counters().map(|it| it.fullmove_number), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn positions_of(game: &Game) -> Vec<EpdRecord> {
    let mut record = EpdRecord::new(game.start().position);
    record.set_fen_counters(Some(game.start().counters));
    let mut positions = vec![record];
    for mv in game.main_line() {
        let Some(next) = positions.last().and_then(|last| last.play(mv)) else { break };
        positions.push(next);
    }
    positions
}

/// Adds `[%eval]` after each move of the main line. If the played move loses at least
/// `variation_loss` centipawns, the engine's line becomes a variation.
///
/// `analysed` has the records of [`positions_of`] the game, with `ce` and `pv`; positions without
/// these operations are skipped. A new evaluation replaces an earlier one of the same move.
///
/// # Errors
/// The game would be too large.
pub fn annotated(
    game: &Game,
    analysed: &[EpdRecord],
    variation_loss: u32,
) -> Result<Game, BuildError> {
    let mut builder = GameBuilder::new();
    builder.set_start(*game.start());
    for (name, value) in game.tags().filter(|(name, _)| game.has_tag(name)) {
        builder.set_tag(name, value)?;
    }
    let mut annotator =
        Annotator { builder, better: None, variation: Vec::new(), depth: 0, has_eval: false };
    let mut pairs = analysed.windows(2);
    for element in game.elements() {
        annotator.copy(element)?;
        if annotator.depth == 0
            && let Element::Move(mv) = element
            && let Some([before, after]) = pairs.next()
        {
            annotator.annotate(mv, before, after, variation_loss)?;
        }
    }
    annotator.put_better()?;
    annotator.builder.finish()
}

/// Copies a game and adds annotations.
struct Annotator {
    builder: GameBuilder,
    /// The line that becomes a variation of the last move of the main line, after its other
    /// variations.
    better: Option<Vec<Move>>,
    /// The plies of the variation that is copied; `None` is a null move.
    variation: Vec<Option<Move>>,
    depth: u32,
    /// True if the last move of the main line got a new evaluation, which replaces earlier ones.
    has_eval: bool,
}

impl Annotator {
    fn copy(&mut self, element: Element<'_>) -> Result<(), BuildError> {
        match element {
            Element::Move(mv) => {
                self.go_on(Some(mv))?;
                self.builder.play(mv)
            }
            Element::NullMove => {
                self.go_on(None)?;
                self.builder.play_null_move()
            }
            Element::Nag(nag) => self.builder.add_nag(nag),
            Element::Comment(text) if self.depth == 0 && self.has_eval => {
                self.builder.add_comment(&without_eval(text))
            }
            Element::Comment(text) => self.builder.add_comment(text),
            Element::Escape(text) => self.builder.add_escape(text),
            Element::VariationBegin => {
                self.depth += 1;
                self.builder.begin_variation()
            }
            Element::VariationEnd => {
                self.depth -= 1;
                self.end_variation()
            }
        }
    }

    /// Prepares for the next ply; `None` is a null move.
    fn go_on(&mut self, ply: Option<Move>) -> Result<(), BuildError> {
        match self.depth {
            0 => self.put_better()?,
            1 => self.variation.push(ply),
            _ => {}
        }
        Ok(())
    }

    fn end_variation(&mut self) -> Result<(), BuildError> {
        if self.depth == 0 {
            let variation = std::mem::take(&mut self.variation);
            // Do not add a variation that exists already.
            self.better.take_if(|better| better.iter().copied().map(Some).eq(variation));
        }
        self.builder.end_variation()
    }

    /// Adds the evaluation of the position after a move, and finds the better line.
    fn annotate(
        &mut self,
        played: Move,
        before: &EpdRecord,
        after: &EpdRecord,
        variation_loss: u32,
    ) -> Result<(), BuildError> {
        let line: Vec<Move> =
            before.operands(Opcode::PV).unwrap_or_default().iter().map_while(mv).collect();
        let is_worse = loss(before, after).is_some_and(|loss| loss >= variation_loss.into());
        let is_other = line.first().is_some_and(|best| *best != played);
        self.better = (is_worse && is_other).then_some(line);
        let eval = eval(after);
        self.has_eval = eval.is_some();
        match eval {
            Some(text) => self.builder.add_comment(&text),
            None => Ok(()),
        }
    }

    fn put_better(&mut self) -> Result<(), BuildError> {
        let Some(better) = self.better.take() else { return Ok(()) };
        self.builder.begin_variation()?;
        better.into_iter().try_for_each(|mv| self.builder.play(mv))?;
        self.builder.end_variation()
    }
}

fn mv(operand: &Operand) -> Option<Move> {
    match operand {
        Operand::Move { mv, .. } => Some(*mv),
        _ => None,
    }
}

/// The loss of the played move in centipawns, compared with the engine's best move.
fn loss(before: &EpdRecord, after: &EpdRecord) -> Option<i64> {
    let ce = |record: &EpdRecord| i32::try_from(record.integer(Opcode::CE)?).ok();
    let reached = child_to_parent(ce(after)?).ok()??;
    Some(i64::from(ce(before)?) - i64::from(reached))
}

/// The comment `[%eval 0.34,18]` with score and depth, from White's point of view; `None` if the
/// position is checkmate.
fn eval(record: &EpdRecord) -> Option<String> {
    let score = Score::from_ce(record.integer(Opcode::CE)?).ok()?;
    let depth = record.text_of(Opcode::ACD).unwrap_or_default();
    evaluation_comment(score, record.position().turn(), &String::from_utf8_lossy(&depth))
}

fn without_eval(comment: &str) -> String {
    let mut rest = String::from(comment);
    while let Some(start) = rest.find("[%eval ")
        && let Some(len) = rest[start..].find(']')
    {
        rest.replace_range(start..=start + len, "");
    }
    rest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn record(fen: &str, operations: &str) -> EpdRecord {
        epdb_chess::parse_epd(format!("{fen} {operations}").as_bytes()).unwrap()
    }

    #[test]
    fn evaluations_are_whites() {
        let white = "4k3/8/8/8/8/8/4P3/4K3 w - -";
        let black = "4k3/8/8/8/8/8/4P3/4K3 b - -";
        for (fen, operations, expected) in [
            (white, "acd 9; ce 34;", Some("[%eval 0.34,9]")),
            (black, "ce 105;", Some("[%eval -1.05]")),
            (black, "ce -5;", Some("[%eval 0.05]")),
            (white, "ce 32762;", Some("[%eval #3]")),
            (black, "ce 32762;", Some("[%eval #-3]")),
            (black, "ce -32761;", Some("[%eval #3]")),
            (white, "ce -32767;", None),
            (white, "id \"x\";", None),
        ] {
            assert_eq!(eval(&record(fen, operations)).as_deref(), expected, "{fen} {operations}");
        }
    }

    #[test]
    fn null_moves_are_kept_and_end_the_analysis() {
        use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

        let text = "1. e4 -- (1... -- 2. d4) 2. d4 (2. --) *";
        let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
        let game = reader.next_game().unwrap().unwrap().game.unwrap().clone();
        let positions = positions_of(&game);
        assert_eq!(positions.len(), 2);
        let copy = annotated(&game, &positions, 50).unwrap();
        assert!(copy.elements().eq(game.elements()));
    }

    #[test]
    fn earlier_evaluations_are_taken_out_of_comments() {
        assert_eq!(without_eval("good [%eval 0.3,9] [%clk 0:01:00]"), "good  [%clk 0:01:00]");
        assert_eq!(without_eval("[%eval 0.3][%eval"), "[%eval");
    }
}
