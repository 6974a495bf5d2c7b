//! Evaluation of expressions for whole games: the positions of the main line are walked once, until the
//! result is known.

use std::collections::VecDeque;

use super::position_test::PositionTest;
use super::tree::{GameTerm, Step, Test};
use crate::value::EvalContext;
use epdb_chess::error::Place;
use epdb_chess::model::{EpdRecord, Game, Setup};
use epdb_chess::text::pgn::MainLine;

/// Maximum number of terms in a [`GameTest`].
const MAX_TERMS: usize = 64;

/// An expression for whole games.
#[derive(Clone, Debug)]
pub(super) struct GameTest {
    formula: Formula,
    terms: Vec<Term>,
}

/// Terms by their indices, and the operators that join them.
#[derive(Clone, Debug)]
enum Formula {
    Term(usize),
    Not(Box<Formula>),
    And(Vec<Formula>),
    Or(Vec<Formula>),
}

/// A part of the expression that is true or false for a whole game.
#[derive(Clone, Debug)]
enum Term {
    /// A test of the tags and the place of a game.
    Fact(Test),
    /// One position makes the test true.
    Once(PositionTest),
    First(PositionTest),
    Last(PositionTest),
    Lasts(PositionTest, u32),
    Then(Chain),
}

/// Tests that are true at positions one after the other.
#[derive(Clone, Debug)]
struct Chain {
    first: PositionTest,
    steps: Vec<Step<PositionTest>>,
}

/// The knowledge about a term at some position of a game.
#[derive(Clone, Default)]
struct State {
    /// True or false, if the further positions do not matter.
    known: Option<bool>,
    /// The ply at which the term became true, or at which its first position was found.
    since: Option<u32>,
    /// For each test of a chain, the positions up to which the chain is true, and which are not too long ago.
    links: Vec<VecDeque<Link>>,
}

/// The end of a part of a chain.
#[derive(Copy, Clone)]
struct Link {
    /// The ply of the first test.
    start: u32,
    /// The ply of the last test of the part.
    end: u32,
}

impl GameTest {
    /// Prepares an expression; `None` if it combines too many terms.
    pub(super) fn new(root: &Test) -> Option<GameTest> {
        let mut terms = Vec::new();
        let formula = formula(root, &mut terms)?;
        Some(GameTest { formula, terms })
    }

    /// The ply of the first match; `None` if the expression is false for the game. A position that makes the
    /// terms about one position true is the match. Without such terms, the first position of the other
    /// terms is, or else the start.
    pub(super) fn first_match(&self, game: &Game, place: &Place) -> Option<u32> {
        let mut line = MainLine::new(game);
        let mut states: Vec<State> =
            self.terms.iter().map(|term| term.at_start(&line, place)).collect();
        let mut known = self.formula.value(&states);
        while known.is_none() {
            let setup = Setup::from(line.position());
            let is_last = line.next_move().is_none();
            let mut has_news = false;
            for (term, state) in self.terms.iter().zip(&mut states) {
                if state.known.is_none() {
                    term.see(state, &At { line: &line, setup: &setup, place, is_last });
                    has_news |= state.known.is_some();
                }
            }
            if has_news {
                known = self.formula.value(&states);
            }
            if !line.step() {
                break;
            }
        }
        known?.then(|| self.ply_of_match(&states))
    }

    fn ply_of_match(&self, states: &[State]) -> u32 {
        let is_once = |term: usize| matches!(self.terms.get(term), Some(Term::Once(_)));
        let once = self.formula.first_ply(states, &is_once);
        once.or_else(|| self.formula.first_ply(states, &|_| true)).unwrap_or(0)
    }
}

/// A position of a game.
struct At<'a> {
    line: &'a MainLine<'a>,
    setup: &'a Setup,
    place: &'a Place,
    is_last: bool,
}

impl At<'_> {
    fn is(&self, test: &PositionTest) -> bool {
        let game = self.line.place();
        test.judge(self.setup).unwrap_or_else(|| {
            let record = self.line.record(test.needs());
            test.holds(&EvalContext::new(&record, Some(game), self.place))
        })
    }
}

impl Term {
    fn at_start(&self, line: &MainLine<'_>, place: &Place) -> State {
        let Term::Fact(test) = self else { return State::default() };
        let record = EpdRecord::new(*line.position());
        let holds = test.holds(&EvalContext::new(&record, Some(line.place()), place));
        State { known: Some(holds), ..State::default() }
    }

    /// Takes the next position. At the last position, the result is known.
    fn see(&self, state: &mut State, at: &At<'_>) {
        let ply = at.line.ply();
        match self {
            Term::Fact(_) => {}
            Term::Once(test) => {
                if at.is(test) {
                    (state.known, state.since) = (Some(true), Some(ply));
                }
            }
            Term::First(test) => (state.known, state.since) = (Some(at.is(test)), Some(ply)),
            Term::Last(test) => {
                if at.is_last {
                    (state.known, state.since) = (Some(at.is(test)), Some(ply));
                }
            }
            Term::Lasts(test, count) => {
                state.since = if at.is(test) { state.since.or(Some(ply)) } else { None };
                if state.since.is_some_and(|since| ply - since + 1 >= *count) {
                    state.known = Some(true);
                }
            }
            Term::Then(chain) => {
                state.since = chain.see(&mut state.links, at);
                state.known = state.since.map(|_| true);
            }
        }
        if at.is_last {
            state.known.get_or_insert(false);
        }
    }
}

impl Chain {
    /// Takes the next position. Returns the first ply from which all tests are true in turn. A link that begins
    /// later never ends earlier, so the first link that is left begins first.
    fn see(&self, links: &mut Vec<VecDeque<Link>>, at: &At<'_>) -> Option<u32> {
        let ply = at.line.ply();
        links.resize(self.steps.len() + 1, VecDeque::new());
        for (place, step) in self.steps.iter().enumerate().rev() {
            let before = &mut links[place];
            while before.front().is_some_and(|link| ply - link.end > step.plies) {
                before.pop_front();
            }
            let is_in_place = |link: &Link| !step.is_exact || ply - link.end == step.plies;
            let link = before.front().copied().filter(is_in_place);
            if let Some(Link { start, .. }) = link.filter(|_| at.is(&step.test)) {
                links[place + 1].push_back(Link { start, end: ply });
            }
        }
        if at.is(&self.first) {
            links[0].push_back(Link { start: ply, end: ply });
        }
        links.last()?.front().map(|link| link.start)
    }
}

impl Formula {
    /// The result, if the known terms decide.
    fn value(&self, states: &[State]) -> Option<bool> {
        match self {
            Formula::Term(index) => states.get(*index)?.known,
            Formula::Not(formula) => formula.value(states).map(|value| !value),
            Formula::And(all) => joined(all, states, false),
            Formula::Or(all) => joined(all, states, true),
        }
    }

    /// The first ply of the wanted terms that make the formula true.
    fn first_ply(&self, states: &[State], is_wanted: &impl Fn(usize) -> bool) -> Option<u32> {
        if self.value(states) != Some(true) {
            return None;
        }
        match self {
            Formula::Term(index) => states.get(*index)?.since.filter(|_| is_wanted(*index)),
            Formula::Not(_) => None,
            Formula::And(all) | Formula::Or(all) => {
                all.iter().filter_map(|it| it.first_ply(states, is_wanted)).min()
            }
        }
    }
}

/// The value of formulas with an operator between them. One of them decides alone with the value `decisive`.
fn joined(all: &[Formula], states: &[State], decisive: bool) -> Option<bool> {
    let mut is_known = true;
    for formula in all {
        match formula.value(states) {
            Some(value) if value == decisive => return Some(decisive),
            Some(_) => {}
            None => is_known = false,
        }
    }
    is_known.then_some(!decisive)
}

/// Splits a test into terms. `None` if there are too many.
fn formula(test: &Test, terms: &mut Vec<Term>) -> Option<Formula> {
    let position = |test: &Test| PositionTest::new(test.clone());
    match test {
        Test::And(tests) => conjunction(tests, terms),
        test if test.is_of_game() => add(Term::Fact(test.clone()), terms),
        test if !test.has_game_terms() => add(Term::Once(position(test)), terms),
        Test::OfGame(term) => {
            let term = match &**term {
                GameTerm::First(test) => Term::First(position(test)),
                GameTerm::Last(test) => Term::Last(position(test)),
                GameTerm::Lasts(test, count) => Term::Lasts(position(test), *count),
                GameTerm::Then(first, steps) => {
                    let steps = steps.iter().map(|step| Step {
                        test: position(&step.test),
                        plies: step.plies,
                        is_exact: step.is_exact,
                    });
                    Term::Then(Chain { first: position(first), steps: steps.collect() })
                }
            };
            add(term, terms)
        }
        Test::Not(test) => Some(Formula::Not(Box::new(formula(test, terms)?))),
        Test::Or(tests) => {
            let parts = tests.iter().map(|test| formula(test, terms));
            parts.collect::<Option<_>>().map(Formula::Or)
        }
        _ => None,
    }
}

/// Splits tests that are joined by `and`. One position has to make all terms about one position true.
fn conjunction(tests: &[Test], terms: &mut Vec<Term>) -> Option<Formula> {
    let mut parts = Vec::new();
    flatten(tests, &mut parts);
    let mut all = Vec::new();
    let facts = taken(&mut parts, Test::is_of_game);
    if !facts.is_empty() {
        all.push(add(Term::Fact(Test::And(facts)), terms)?);
    }
    let of_position = taken(&mut parts, |test| !test.has_game_terms());
    for test in taken(&mut parts, |test| !test.has_position_terms()) {
        all.push(formula(&test, terms)?);
    }
    match parts.pop() {
        None if of_position.is_empty() => {}
        None => all.push(add(Term::Once(PositionTest::new(Test::And(of_position))), terms)?),
        // P and (Q or G) is (P and Q) or (P and G).
        Some(Test::Or(ways)) => {
            let rest = [&of_position[..], &parts].concat();
            let ways = ways.into_iter().map(|way| {
                let tests: Vec<Test> = std::iter::once(way).chain(rest.iter().cloned()).collect();
                conjunction(&tests, terms)
            });
            all.push(Formula::Or(ways.collect::<Option<_>>()?));
        }
        Some(_) => return None,
    }
    Some(Formula::And(all))
}

/// Takes some of the tests away.
fn taken(tests: &mut Vec<Test>, is_wanted: impl Fn(&Test) -> bool) -> Vec<Test> {
    tests.extract_if(.., |test| is_wanted(test)).collect()
}

/// Appends the tests that `and` joins.
fn flatten(tests: &[Test], parts: &mut Vec<Test>) {
    for test in tests {
        match test {
            Test::And(inner) => flatten(inner, parts),
            other => parts.push(other.clone()),
        }
    }
}

fn add(term: Term, terms: &mut Vec<Term>) -> Option<Formula> {
    terms.push(term);
    (terms.len() <= MAX_TERMS).then(|| Formula::Term(terms.len() - 1))
}
