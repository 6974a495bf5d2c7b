//! Repertoires: lines to positions and back.

use std::collections::{BTreeMap, BTreeSet};

use epdb_chess::model::rules::{Playable, after};
use epdb_chess::model::{Color, Element, Game, GameBuilder, Opcode, Position, Replay};
use epdb_chess::text::{epd, san};
use epdb_library::repertoire::{
    Departures, Finding, Part, Paths, Repertoire, TreeOptions, numbered,
};
use proptest::prelude::*;

use crate::games;

const SAMPLE: &str = include_str!("../samples/repertoire.pgn");
const MEMORY: usize = 64 << 20;

fn of_games(games: &[Game], side: Option<Color>) -> Repertoire {
    let mut repertoire = Repertoire::new(MEMORY);
    games.iter().for_each(|game| repertoire.add_game(game, side).unwrap());
    repertoire
}

fn of_pgn(pgn: &str, side: Color) -> Repertoire {
    of_games(&games(pgn), Some(side))
}

/// A tree of a repertoire has all its positions and moves.
fn assert_graph_comes_back(games: &[Game]) {
    let repertoire = of_games(games, None);
    for once in [true, false] {
        let again = of_games(&[tree(&repertoire, once)], None);
        assert_eq!(graph(&again), graph(&repertoire), "{once}");
    }
}

#[test]
fn lines_end_before_null_moves() {
    let game = "1. e4 {a} -- {b} (1... e5 2. Nf3) 2. d4 $1 {c} (2. c4) ({d} 2. f4 Nf6) d5 *";
    let taken = of_pgn(game, Color::White);
    let same = of_pgn("1. e4 {a} e5 2. Nf3 *", Color::White);
    assert_eq!(graph(&taken), graph(&same));
    assert_eq!((taken.moves_left_out(), same.moves_left_out()), (5, 0));
}

#[test]
fn a_line_that_comes_back_to_the_start_ends_there() {
    let circle = games("1. Nf3 Nf6 2. Ng1 Ng8 (2... d5) *\n\n1. e4 e5 *\n");
    assert_graph_comes_back(&circle);
    let text = format!("{:?}", tree(&of_games(&circle, None), true));
    assert!(text.contains("as at the start"), "{text}");
}

/// The repertoire of records given as text.
fn through_text(repertoire: &Repertoire, side: Color) -> Repertoire {
    let mut again = Repertoire::new(MEMORY);
    for record in repertoire.records(side) {
        let line = epdb_chess::format_epd(&record);
        again.add_record(&epdb_chess::parse_epd(&line).unwrap(), 1).unwrap();
    }
    again
}

/// Every beginning of every line of games.
fn lines(games: &[Game]) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for game in games {
        let mut replay = Replay::new(game.start()).unwrap();
        let (mut line, mut outer): (Vec<String>, Vec<Vec<String>>) = Default::default();
        for element in game.elements() {
            match element {
                Element::Move(mv) => {
                    line.push(san::format(&replay.playable(), mv).to_string());
                    lines.insert(line.join(" "));
                    replay.play(mv);
                }
                Element::VariationBegin => {
                    outer.push(line.clone());
                    line.pop();
                    replay.begin_variation();
                }
                Element::VariationEnd => {
                    line = outer.pop().unwrap();
                    replay.end_variation();
                }
                _ => {}
            }
        }
    }
    lines
}

fn tree(repertoire: &Repertoire, once: bool) -> Game {
    let options = TreeOptions { once, ..TreeOptions::default() };
    repertoire.tree(&Position::START, &options).unwrap().game
}

/// For each position its moves with their marks, and its other operations.
fn graph(repertoire: &Repertoire) -> BTreeMap<String, Vec<String>> {
    let texts = |node| {
        let place = repertoire.place(node);
        let moves = place.branches.iter();
        let mut texts: Vec<String> =
            moves.map(|branch| format!("{} {}", branch.mv, branch.is_avoided)).collect();
        texts.sort();
        texts.extend(place.comments.iter().cloned());
        texts.push(format!("{:?} {:?}", place.evaluation, place.nags));
        (place.position.to_string(), texts)
    };
    repertoire.nodes().map(texts).collect()
}

fn shown(finding: &Finding) -> String {
    let line = finding.line.as_ref().map(|line| numbered(Color::White, line));
    let mv = finding.mv.map(|mv| format!(" {mv}")).unwrap_or_default();
    let moves: Vec<String> = finding.moves.iter().map(ToString::to_string).collect();
    format!("{}{mv}: {}", line.unwrap_or("-".into()), moves.join(" "))
}

fn of_part(findings: &[Finding], part: Part) -> Vec<String> {
    findings.iter().filter(|finding| finding.part == part).map(shown).collect()
}

#[test]
fn a_file_of_chapters_comes_back_as_a_tree_with_the_same_lines() {
    let chapters = games(SAMPLE);
    assert_eq!(chapters.len(), 2);
    let repertoire = of_games(&chapters, Some(Color::White));
    let straight = tree(&repertoire, false);
    assert_eq!(lines(std::slice::from_ref(&straight)), lines(&chapters));
    let again = through_text(&repertoire, Color::White);
    assert_eq!(graph(&again), graph(&repertoire));
    assert_eq!(lines(&[tree(&again, false)]), lines(&chapters));
    assert_eq!(lines(&[tree(&again, true)]), lines(&chapters));
    // Nothing grows when it is done again.
    assert_eq!(
        tree(&of_games(std::slice::from_ref(&straight), Some(Color::White)), false),
        straight
    );
}

#[test]
fn a_line_that_continues_after_a_transposition_does_so_in_the_tree() {
    let pgn = "1. d4 (1. c4 d5 2. d4 e6 3. Nc3) 1... d5 2. c4 e6 3. Nc3 *";
    let repertoire = of_pgn(pgn, Color::White);
    assert_eq!(repertoire.len(), 8);
    assert_eq!(lines(&[tree(&repertoire, false)]), lines(&games(pgn)));
    let options = TreeOptions { once: true, ..TreeOptions::default() };
    let once = repertoire.tree(&Position::START, &options).unwrap();
    assert_eq!((once.moves, once.references), (8, 1));
    let comment = Element::Comment("as after 1. d4 d5 2. c4");
    assert!(once.game.elements().any(|element| element == comment));
    assert_eq!(graph(&of_games(&[once.game], Some(Color::White))), graph(&repertoire));
}

#[test]
fn circles_end() {
    let pgn = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nc6 *";
    let repertoire = of_pgn(pgn, Color::White);
    for once in [false, true] {
        let expected = "Nf3 Nf6 Ng1 Ng8";
        let found = lines(&[tree(&repertoire, once)]);
        assert!(found.contains(expected) && found.len() == 5, "{found:?}");
    }
}

#[test]
fn a_tree_begins_anywhere_and_ends_at_a_depth() {
    let repertoire = of_pgn(SAMPLE, Color::White);
    let playable = Playable::new(&Position::START).unwrap();
    let root = playable.after("e2e4".parse().unwrap()).after("c7c5".parse().unwrap());
    let options = TreeOptions { depth: 3, ..TreeOptions::default() };
    let tree = repertoire.tree(root.position(), &options).unwrap();
    let (first, second) = ("Nf3 Nc6 Bb5", "c3 Nf6 e5");
    let found = lines(std::slice::from_ref(&tree.game));
    assert!(found.contains(first) && found.contains(second), "{found:?}");
    assert!(found.iter().all(|line| line.split(' ').count() <= 3));
    assert!(tree.game.tag("FEN").is_some_and(|fen| fen.ends_with(" 0 1")));
    let small = TreeOptions { max_moves: 3, ..TreeOptions::default() };
    assert!(repertoire.tree(&Position::START, &small).is_err());
    let other = "8/8/8/8/8/8/8/K1k5 w - -".parse().unwrap();
    assert!(repertoire.tree(&other, &options).is_err());
}

#[test]
fn records_and_lines_agree() {
    let pgn = "{all} 1. e4 ({or} 1. d4) (1. g4 $2 d5) 1... c5 $2 {[%eval 0.50,20] \"good\"} $16 *";
    let repertoire = of_pgn(pgn, Color::White);
    let texts: Vec<String> = repertoire
        .records(Color::White)
        .map(|record| String::from_utf8(epdb_chess::format_epd(&record)).unwrap())
        .collect();
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    assert_eq!(texts[0], format!("{start} am g4; bm d4 e4; c0 \"all\"; pm e4;"));
    assert!(texts[1].ends_with("b KQkq - glyphs c5$2; replies c5;"), "{}", texts[1]);
    assert!(texts[5].ends_with("- acd 20; c0 \"''good''\"; ce 50; nags 16;"), "{texts:?}");
    let again = through_text(&repertoire, Color::White);
    assert_eq!(tree(&again, false), tree(&repertoire, false));
    assert_eq!(again.find(&Position::START), Some(0));
    assert!(again.place(0).branches.iter().any(|branch| branch.is_avoided));
    // Black's mistake is what White hopes for; as Black's own it is no candidate.
    let black = of_pgn(pgn, Color::Black);
    assert_eq!((repertoire.candidates(1).count(), black.candidates(1).count()), (1, 0));
}

#[test]
fn gaps_are_reported() {
    let repertoire = of_pgn(SAMPLE, Color::White);
    let report = repertoire.report(Color::White, &[Position::START]);
    assert_eq!(
        of_part(&report, Part::Choice),
        [
            "1. e4 c5: Nf3 c3",
            "1. e4 e5 2. Nf3 Nf6: Nxe5 d4",
            "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5: d3 b4"
        ]
    );
    let leaves = of_part(&report, Part::Leaf);
    assert_eq!(leaves.len(), 7, "{leaves:#?}");
    assert!(leaves.iter().any(|line| line.starts_with("1. e4 c5 2. Nf3 d6 3. Bb5+ Nc6 4. Bxc6+")));
    assert!(of_part(&report, Part::Unreached).is_empty());

    // A candidate is removed: the moves after it are not reached any more.
    let mut cut = Repertoire::new(MEMORY);
    for mut record in repertoire.records(Color::White) {
        if record.position().to_string().starts_with("r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2") {
            record.remove(Opcode::BM).unwrap();
        }
        cut.add_record(&record, 1).unwrap();
    }
    let report = cut.report(Color::White, &[Position::START]);
    assert_eq!(of_part(&report, Part::Unreached).len(), 16);
    assert!(of_part(&report, Part::Leaf).contains(&"1. e4 e5 2. Nf3 Nc6: ".to_string()));
    let nothing = Repertoire::new(MEMORY);
    assert!(nothing.report(Color::White, &[Position::START]).is_empty());
}

#[test]
fn a_transposition_by_another_order_is_an_answer() {
    // 1... Nf6 2. c4 e6 is answered, so 1... e6 2. c4 Nf6 is.
    let repertoire = of_pgn("1. d4 Nf6 (1... e6 2. c4) 2. c4 e6 3. Nc3 *", Color::White);
    let report = repertoire.report(Color::White, &[Position::START]);
    assert_eq!(of_part(&report, Part::Leaf), ["1. d4 Nf6 2. c4 e6 3. Nc3: "]);
}

fn total(position: &Position, text: &str) -> epdb_chess::model::TallyPart {
    let root = Playable::new(position).unwrap();
    epd::parse_tally(Some(&root), text.as_bytes()).unwrap().total()
}

#[test]
fn moves_of_a_library_without_an_answer_are_reported_with_their_share() {
    let repertoire = of_pgn("1. e4 (1. d4 d5 2. c4) 1... e5 2. Nf3 *", Color::White);
    let nodes = repertoire.of_other_side(&[Position::START], Color::White);
    assert_eq!(nodes.len(), 4);
    let tallies = nodes
        .iter()
        .filter_map(|&node| {
            let text = match repertoire.place(node).position.to_string().split(' ').next()? {
                "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR" => {
                    "reached 10, e5 +5=0-0, c5 +3=0-0, c6 +2=0-0"
                }
                "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR" => {
                    "reached 9, d5 +1=0-0, Nf6 +0=3-0"
                }
                // Nothing is missing at the end of the line.
                _ => "reached 5, Nc6 +5=0-0",
            };
            Some((node, total(&repertoire.place(node).position, text)))
        })
        .collect();
    let coverage = repertoire.coverage(&[Position::START], Color::White, &tallies, 1);
    let told: Vec<String> = coverage
        .unanswered
        .iter()
        .map(|it| format!("{} {:?} {:.3}", shown(it), it.games.unwrap(), it.share.unwrap()))
        .collect();
    assert_eq!(told, ["1. e4 c5: e5 3 0.150", "1. d4 Nf6: d5 3 0.375", "1. e4 c6: e5 2 0.100"]);
    let share = coverage.share.unwrap();
    assert!((share - (1.0 - 0.25 - 0.375)).abs() < 1e-9, "{share}");
    let few = repertoire.coverage(&[Position::START], Color::White, &tallies, 3);
    assert_eq!((few.unanswered.len(), few.share), (2, coverage.share));
    let none = repertoire.coverage(&[Position::START], Color::White, &Default::default(), 1);
    assert_eq!((none.unanswered.len(), none.share), (0, None));
}

#[test]
fn games_leave_where_a_move_is_not_in_the_repertoire() {
    let repertoire = of_pgn("1. e4 e5 (1... c5 2. Nf3 d6 3. d4) 2. Nf3 Nc6 3. Bb5 *", Color::White);
    let mut departures = Departures::new(&repertoire, &[Position::START], Color::White);
    let played = "1. e4 e5 2. Bc4 * 1. e4 e5 2. Bc4 Nf6 * 1. e4 c6 2. d4 * \
                  1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 * 1. e4 e5 * 1. Nf3 e5 2. e4 Nc6 3. Bb5 * 1. d4 *";
    let played = games(played);
    for (place, game) in played.iter().enumerate() {
        departures.add(game, &place.to_string());
    }
    let findings = departures.findings();
    let told = |part| of_part(&findings, part);
    assert_eq!(told(Part::OwnMove), ["1. e4 e5 Bc4: Nf3", " d4: e4"]);
    assert_eq!(told(Part::OtherMove), ["1. e4 c6: e5 c5"]);
    assert_eq!(told(Part::LineEnd), ["1. e4 e5 2. Nf3 Nc6 3. Bb5 a6: "]);
    assert_eq!((findings[0].games, findings[0].first.as_deref()), (Some(2), Some("0")));
    let ends = departures.ends();
    assert_eq!((ends.games, ends.within, ends.never), (7, 2, 0));
}

#[test]
fn a_repertoire_stays_within_its_memory() {
    let mut repertoire = Repertoire::new(4_000);
    let error = repertoire.add_game(&games(SAMPLE)[0], None).unwrap_err();
    assert!(error.to_string().contains("does not fit into the memory"), "{error}");
}

/// Writes lines in which a repeated position either ends its line or continues as before.
struct Author {
    decisions: std::vec::IntoIter<u8>,
    /// The lines after each written position.
    written: BTreeMap<String, Lines>,
    /// Whether only pawns move, so that no position comes back on its own line.
    pawns_only: bool,
}

/// Moves, each with what follows.
#[derive(Clone, Default)]
struct Lines(Vec<(String, Lines)>);

impl Author {
    fn decide(&mut self, choices: usize) -> usize {
        usize::from(self.decisions.next().unwrap_or(0)) % choices.max(1)
    }

    fn lines(&mut self, position: &Position, depth: usize) -> Lines {
        let name = position.identity().to_string();
        if let Some(known) = self.written.get(&name) {
            let known = known.clone();
            return if self.decide(2) == 0 { Lines::default() } else { known };
        }
        let playable = Playable::new(position).unwrap();
        let mut moves = playable.legal_moves();
        moves.retain(|mv| {
            !self.pawns_only || {
                let pawns = position.board().pieces(position.turn(), epdb_chess::model::Role::Pawn);
                pawns.contains(mv.from) && mv.from.file() < 3
            }
        });
        let count = if depth == 0 { 0 } else { self.decide(4).min(moves.len()) };
        let mut steps = Vec::new();
        for _ in 0..count {
            let mv = moves.remove(self.decide(moves.len()));
            let next = self.lines(&after(position, mv), depth - 1);
            steps.push((mv.to_string(), next));
        }
        self.written.insert(name, Lines(steps.clone()));
        Lines(steps)
    }
}

fn write(lines: &Lines, game: &mut GameBuilder) {
    let Some(((first, rest), others)) = lines.0.split_first() else { return };
    game.play(first.parse().unwrap()).unwrap();
    for (mv, next) in others {
        game.begin_variation().unwrap();
        game.play(mv.parse().unwrap()).unwrap();
        write(next, game);
        game.end_variation().unwrap();
    }
    write(rest, game);
}

fn random_game(decisions: Vec<u8>, pawns_only: bool, depth: usize) -> Game {
    let decisions = decisions.into_iter();
    let mut author = Author { decisions, written: BTreeMap::new(), pawns_only };
    let lines = author.lines(&Position::START, depth);
    let mut game = GameBuilder::new();
    write(&lines, &mut game);
    game.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// PGN with variations, records as text, tree: the same lines.
    #[test]
    fn random_lines_come_back(decisions in prop::collection::vec(any::<u8>(), 0..120)) {
        let game = random_game(decisions, true, 7);
        let repertoire = of_games(std::slice::from_ref(&game), None);
        prop_assert_eq!(lines(&[tree(&repertoire, false)]), lines(std::slice::from_ref(&game)));
        let again = through_text(&repertoire, Color::White);
        prop_assert_eq!(lines(&[tree(&again, false)]), lines(&[game]));
    }

    /// Whatever circles there are: a tree has all positions and moves, once or as often as they come.
    #[test]
    fn random_graphs_come_back(decisions in prop::collection::vec(any::<u8>(), 0..120)) {
        assert_graph_comes_back(&[random_game(decisions, false, 5)]);
    }

    /// Each way leads to its position.
    #[test]
    fn ways_lead_to_their_positions(decisions in prop::collection::vec(any::<u8>(), 0..120)) {
        let game = random_game(decisions, true, 6);
        let repertoire = of_games(&[game], None);
        let paths = Paths::from_play(&repertoire, &[Position::START], Color::White);
        for &node in paths.reached() {
            let mut position = Position::START;
            for mv in paths.line(&repertoire, node) {
                let playable = Playable::new(&position).unwrap();
                let read = san::parse(&playable, mv.as_bytes(), epdb_chess::text::Profile::Strict);
                position = after(&position, read.unwrap().mv);
            }
            prop_assert_eq!(position.identity(), repertoire.place(node).position);
        }
    }
}
