//! Values of positions, computed from those that their moves lead to.

use std::collections::BTreeSet;

use epdb_chess::model::rules::Playable;
use epdb_chess::model::score::child_to_parent;
use epdb_chess::model::{Board, Castling, Color, EpdRecord, Opcode, Piece, Position, Square};
use epdb_library::backsolve::{
    BacksolveOptions, Backsolver, CE_LEAF, CE_OWN, CE_PLIES, CE_REPEATS, Graph, GraphError, Known,
    Node, Origin, OwnScores, solve,
};
use proptest::prelude::*;

const VECTORS: &str = include_str!("../vectors/backsolve.tsv");

/// Every row.
#[test]
fn the_vectors() {
    let mut rows = 0;
    for row in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        let [id, tree, root_ce] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        for own_scores in [OwnScores::LowerBound, OwnScores::Replaced] {
            let mut solution = solve(tree_of(tree), own_scores).unwrap();
            let value = solution.value(0).unwrap().map(|ce| ce.to_string());
            assert_eq!(value.as_deref(), Some(root_ce), "{id}");
        }
        rows += 1;
    }
    assert_eq!(rows, 5);
}

/// The graph of a tree such as `a=b,c b=20 c=-30`.
fn tree_of(tree: &str) -> Graph {
    let names: Vec<&str> = tree.split(' ').map(|it| it.split_once('=').unwrap().0).collect();
    let mut graph = Graph::new();
    for node in tree.split(' ') {
        let (_, said) = node.split_once('=').unwrap();
        let (known, targets) = match said.parse() {
            Ok(ce) => (Known::Score(ce), Vec::new()),
            Err(_) => {
                let place = |name| names.iter().position(|it| *it == name).unwrap() as Node;
                (Known::Nothing, said.split(',').map(place).collect())
            }
        };
        graph.add(known, targets.len() as u16, &targets).unwrap();
    }
    graph
}

type Plan = Vec<(Known, bool, BTreeSet<Node>)>;

/// Positions, whether moves lead out of the graph, and where the others lead.
fn any_plan() -> impl Strategy<Value = Plan> {
    let ce = prop::sample::select(vec![-32767, -32766, -32764, -30, -20, 0, 0, 20, 30, 32765]);
    let known = prop_oneof![
        3 => Just(Known::Nothing),
        2 => ce.prop_map(Known::Score),
        1 => prop::sample::select(vec![-32767, 0]).prop_map(Known::Fact),
    ];
    (1..12_u32).prop_flat_map(move |nodes| {
        let targets = prop::collection::btree_set(0..nodes, 0..4);
        prop::collection::vec((known.clone(), any::<bool>(), targets), nodes as usize)
    })
}

fn graph_of(plan: &Plan) -> Graph {
    filled(Graph::new(), plan)
}

fn filled(mut graph: Graph, plan: &Plan) -> Graph {
    for (known, has_more, targets) in plan {
        let targets: Vec<Node> = targets.iter().copied().collect();
        graph.add(*known, (targets.len() + usize::from(*has_more)) as u16, &targets).unwrap();
    }
    graph
}

/// The values of all positions, and their origins.
fn values(graph: Graph, own_scores: OwnScores) -> Vec<(Option<i16>, Origin)> {
    let nodes = 0..graph.len() as Node;
    let mut solution = solve(graph, own_scores).unwrap();
    nodes.map(|it| (solution.value(it).unwrap(), solution.origin(it).unwrap())).collect()
}

/// The values of `(position, side)` after 200 rounds of minimax, if an unfinished game is worth `endless`
/// to the first side.
fn iterated(
    plan: &Plan,
    solution: &[(Option<i16>, Origin)],
    own_scores: OwnScores,
    endless: i32,
) -> Vec<[i32; 2]> {
    let is_known = |node: usize| solution[node].0.is_some();
    let mut values = vec![[endless, -endless]; plan.len()];
    for _ in 0..200 {
        let next = |node: usize, side: usize| -> i32 {
            let (known, has_more, targets) = &plan[node];
            let targets: Vec<usize> = targets.iter().map(|it| *it as usize).collect();
            let valued = || targets.iter().filter(|target| is_known(**target));
            let is_open = *has_more || valued().count() < targets.len();
            let moves =
                valued().map(|target| child_to_parent(values[*target][1 - side]).unwrap().unwrap());
            let best = moves.max();
            // Such a mate is not proven, so the own score counts as a bound.
            let is_mated = is_open && best.is_some_and(|best| best < -MAX_PLAIN);
            match known {
                Known::Fact(ce) => (*ce).into(),
                Known::Score(ce) if valued().count() == 0 => (*ce).into(),
                Known::Score(ce)
                    if is_open && (own_scores == OwnScores::LowerBound || is_mated) =>
                {
                    best.into_iter().chain([(*ce).into()]).max().unwrap()
                }
                _ => best.unwrap_or(0),
            }
        };
        values = (0..plan.len()).map(|node| [next(node, 0), next(node, 1)]).collect();
    }
    values
}

const MAX_PLAIN: i32 = 32_000;

/// A position has no value exactly if it has no own value and no move with a value, or if all its moves
/// with a value lead to its mate while others have no value.
fn check_unknown(plan: &Plan, solution: &[(Option<i16>, Origin)]) {
    for (node, (known, has_more, targets)) in plan.iter().enumerate() {
        let values: Vec<i32> =
            targets.iter().filter_map(|it| solution[*it as usize].0).map(i32::from).collect();
        let is_open = *has_more || values.len() < targets.len();
        let proves_nothing = is_open && values.iter().all(|value| *value > MAX_PLAIN);
        let is_unknown = *known == Known::Nothing && (values.is_empty() || proves_nothing);
        assert_eq!(solution[node].0.is_none(), is_unknown, "{node} {plan:?} {solution:?}");
    }
}

proptest! {
    /// The fixed point of minimax, circles included; and what hangs on a repetition is
    /// what has another value when endless play is worth a little more or less than a draw.
    #[test]
    fn values_are_those_of_repeated_minimax(plan in any_plan()) {
        for own_scores in [OwnScores::LowerBound, OwnScores::Replaced] {
            let solution = values(graph_of(&plan), own_scores);
            check_unknown(&plan, &solution);
            let draw = iterated(&plan, &solution, own_scores, 0);
            let [more, less] = [1, -1].map(|it| iterated(&plan, &solution, own_scores, it));
            for node in 0..plan.len() {
                let (Some(value), origin) = solution[node] else { continue };
                prop_assert_eq!([i32::from(value); 2], draw[node], "{}", node);
                let hangs = more[node] != draw[node] || less[node] != draw[node];
                match origin {
                    Origin::Repetition => prop_assert!(hangs, "{}", node),
                    Origin::Move | Origin::Fact => prop_assert!(!hangs, "{}", node),
                    _ => {}
                }
            }
        }
    }

    /// The numbers of positions make no difference.
    #[test]
    fn the_order_of_positions_makes_no_difference(plan in any_plan(), turn in 0..12_usize) {
        let turned = |node: Node| ((node as usize + turn) % plan.len()) as Node;
        let mut other = plan.clone();
        other.rotate_right(turn % plan.len());
        other.iter_mut().for_each(|it| it.2 = it.2.iter().map(|node| turned(*node)).collect());
        let values = |plan| values(graph_of(plan), OwnScores::LowerBound);
        let (one, two) = (values(&plan), values(&other));
        for node in 0..plan.len() as Node {
            prop_assert_eq!(one[node as usize], two[turned(node) as usize]);
        }
    }
}

/// A graph of this many positions. Most moves are short, so lines are long.
fn large_plan(nodes: Node, seed: u64) -> Plan {
    let mut state = seed;
    let mut below = |end: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let ces = [-32767, -32767, -32764, -300, -20, -1, 0, 1, 20, 300, 32766];
    (0..nodes)
        .map(|node| {
            let known = match below(40) {
                0 => Known::Fact([-32767, 0][below(2) as usize]),
                1..4 => Known::Score(ces[below(11) as usize]),
                _ => Known::Nothing,
            };
            let has_more = below(2) == 0;
            let target = |_| match below(3) {
                0 => below(nodes.into()) as Node,
                _ => (node + 1 + below(40) as Node) % nodes,
            };
            (known, has_more, (0..node % 5).map(target).collect())
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn graphs_in_any_memory_have_the_same_values(
        nodes in 3000..8000_u32,
        seed in any::<u64>(),
        memory_bytes in 0..300_000_usize,
    ) {
        let plan = large_plan(nodes, seed);
        for own_scores in [OwnScores::LowerBound, OwnScores::Replaced] {
            let small = filled(Graph::with_memory(std::env::temp_dir(), memory_bytes), &plan);
            let expected = values(graph_of(&plan), own_scores);
            let found: BTreeSet<_> = expected.iter().filter_map(|it| it.0).collect();
            prop_assert!(found.len() > 8, "{found:?}");
            prop_assert!(values(small, own_scores) == expected);
        }
    }
}

#[test]
fn limits_are_errors() {
    let mut graph = Graph::new();
    for (known, value) in [(Known::Score(i16::MAX), i16::MAX), (Known::Fact(i16::MIN), i16::MIN)] {
        let error = graph.add(known, 0, &[]).unwrap_err();
        assert_eq!(error.to_string(), GraphError::Value(value).to_string());
    }
    graph.add(Known::Nothing, 1, &[1]).unwrap();
    let target = GraphError::Target { target: 1, positions: 1 };
    let error = solve(graph, OwnScores::Replaced).unwrap_err();
    assert_eq!(error.to_string(), target.to_string());
    for ce in [-32_001, 32_001] {
        let mut graph = Graph::new();
        graph.add(Known::Nothing, 1, &[1]).unwrap();
        graph.add(Known::Score(ce), 0, &[]).unwrap();
        let error = solve(graph, OwnScores::Replaced).unwrap_err();
        assert_eq!(error.to_string(), GraphError::MateTooFar.to_string());
    }
}

fn record(line: &str) -> EpdRecord {
    epdb_chess::parse_epd(line.as_bytes()).unwrap()
}

fn solved_with(records: &[EpdRecord], options: BacksolveOptions) -> Vec<EpdRecord> {
    solved_in(64 << 20, records, options)
}

fn solved_in(
    memory_bytes: usize,
    records: &[EpdRecord],
    options: BacksolveOptions,
) -> Vec<EpdRecord> {
    let mut backsolver = Backsolver::new(options, &std::env::temp_dir(), memory_bytes);
    records.iter().for_each(|record| backsolver.add(record).unwrap());
    backsolver.solve().unwrap().map(Result::unwrap).collect()
}

fn solved(lines: &[&str]) -> Vec<String> {
    let records: Vec<_> = lines.iter().map(|line| record(line)).collect();
    texts(&solved_with(&records, BacksolveOptions::default()))
}

fn texts(records: &[EpdRecord]) -> Vec<String> {
    records.iter().map(|it| String::from_utf8(epdb_chess::format_epd(it)).unwrap()).collect()
}

/// A position and all those within some plies of it, each once.
fn all_after(first: &str, plies: u32) -> Vec<EpdRecord> {
    let mut found = vec![EpdRecord::new(first.parse().unwrap())];
    let mut seen = BTreeSet::from([found[0].position().to_string()]);
    let mut last = found.clone();
    for _ in 0..plies {
        let mut next = Vec::new();
        for record in &last {
            for mv in Playable::new(record.position()).unwrap().legal_moves() {
                let after = EpdRecord::new(record.play(mv).unwrap().position().identity());
                if seen.insert(after.position().to_string()) {
                    next.push(after);
                }
            }
        }
        found.extend_from_slice(&next);
        last = next;
    }
    found
}

/// Mates are distances in plies; nothing is known here but the rules.
#[test]
fn mates_are_found_from_the_rules_alone() {
    for (first, plies, ce, pm) in [
        ("k7/8/1K6/8/8/8/8/7R w - -", 1, 32766, "Rh8#"),
        ("k7/8/2K5/8/8/8/8/7R w - -", 3, 32764, "Kb6"),
        ("8/1k6/3K4/8/8/8/8/7R b - -", 0, 0, ""),
        ("k7/2K5/8/8/8/8/8/7R b - -", 2, -32765, "Ka7"),
    ] {
        let records = all_after(first, plies);
        let solved = solved_with(&records, BacksolveOptions::default());
        if plies > 0 {
            assert_eq!(solved[0].integer(Opcode::CE), Some(ce), "{first}");
            assert_eq!(solved[0].text_of(Opcode::PM).unwrap(), pm.as_bytes(), "{first}");
        } else {
            assert_eq!(solved, records);
        }
    }
}

/// A side is mated by force only if all its moves are known to lose.
#[test]
fn some_moves_prove_no_mate() {
    let game = [
        START,
        "rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR b KQkq -",
        "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq -",
        "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq -",
        "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq -",
    ];
    let mate = format!("{} ce 32766; ce_own; pm Qh4#;", game[3]);
    let mated = format!("{} ce -32767; ce_own;", game[4]);
    assert_eq!(solved(&game), [game[0], game[1], game[2], &mate, &mated]);
    // The mate needs no record of its own.
    assert_eq!(solved(&game[..4]), [game[0], game[1], game[2], &mate]);
    // An own score speaks for the moves that are unknown.
    for own_scores in [OwnScores::LowerBound, OwnScores::Replaced] {
        let scored = [game[1], &format!("{} ce -70;", game[2]), game[3]].map(record);
        let options = BacksolveOptions { own_scores, ..BacksolveOptions::default() };
        let after = texts(&solved_with(&scored, options));
        assert_eq!(
            after[..2],
            [format!("{} ce 70; ce_own; pm e5;", game[1]), texts(&scored)[1].clone()]
        );
    }
    let provenance = BacksolveOptions { provenance: true, ..BacksolveOptions::default() };
    let leaf = texts(&solved_with(&[record(game[3])], provenance));
    let expected =
        format!("{} ce 32766; ce_leaf \"{}\"; ce_own; ce_plies 1; pm Qh4#;", game[3], game[4]);
    assert_eq!(leaf, [expected]);
    // Draws by the rules, without a record.
    assert_eq!(
        solved(&["8/8/8/8/8/4k1K1/4R3/8 b - -", "7k/8/8/6Q1/8/8/8/K7 w - -"]),
        [
            "8/8/8/8/8/4k1K1/4R3/8 b - - ce 0; ce_own; pm Kxe2;",
            "7k/8/8/6Q1/8/8/8/K7 w - - ce 0; ce_own; pm Qg6;",
        ]
    );
}

/// Squares by number: files, then ranks.
fn king_moves(from: usize) -> impl Iterator<Item = usize> {
    let (file, rank) = ((from % 8) as i32, (from / 8) as i32);
    let steps = (-1..=1).flat_map(|x| (-1..=1).map(move |y| (x, y)));
    steps.filter(|step| *step != (0, 0)).filter_map(move |(x, y)| {
        let (file, rank) = (file + x, rank + y);
        ((0..8).contains(&file) && (0..8).contains(&rank)).then_some((8 * rank + file) as usize)
    })
}

fn rook_moves(from: usize, blockers: [usize; 2]) -> Vec<usize> {
    let mut moves = Vec::new();
    for (x, y) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
        let (mut file, mut rank) = ((from % 8) as i32 + x, (from / 8) as i32 + y);
        while (0..8).contains(&file) && (0..8).contains(&rank) {
            let square = (8 * rank + file) as usize;
            moves.push(square);
            if blockers.contains(&square) {
                break;
            }
            (file, rank) = (file + x, rank + y);
        }
    }
    moves
}

fn is_near(one: usize, other: usize) -> bool {
    one == other || king_moves(one).any(|square| square == other)
}

/// An ending of king and rook against king: White's king, Black's king, the rook, and the side to move
/// (0 is White).
type Ending = [usize; 4];

/// Each legal ending in which the kings are on these squares, with the plies to mate.
fn rook_endings(kings: &[usize]) -> std::collections::HashMap<Ending, Option<i128>> {
    let mut endings = std::collections::HashMap::new();
    for (&white, &black) in kings.iter().flat_map(|it| kings.iter().map(move |other| (it, other))) {
        for rook in (0..64).filter(|rook| ![white, black].contains(rook)) {
            let is_check = rook_moves(rook, [white, black]).contains(&black);
            for turn in (0..2).filter(|turn| *turn == 1 || !is_check) {
                if !is_near(white, black) {
                    endings.insert([white, black, rook, turn], None);
                }
            }
        }
    }
    for ply in 0.. {
        let is_lost = |ending: Ending| {
            endings.get(&ending).is_some_and(|it| it.is_some_and(|it| it == ply - 1))
        };
        let is_won = |ending: Ending| endings.get(&ending).is_some_and(Option::is_some);
        let settles = |ending: &Ending| {
            let [white, black, rook, turn] = *ending;
            if turn == 0 {
                let king = king_moves(white).filter(|to| *to != rook && !is_near(*to, black));
                let rook = rook_moves(rook, [white, black]).into_iter().filter(|to| *to != white);
                return king
                    .map(|to| [to, black, ending[2], 1])
                    .chain(rook.map(|to| [white, black, to, 1]))
                    .any(is_lost);
            }
            let attacked = rook_moves(rook, [white, white]);
            let mut escapes = king_moves(black)
                .filter(|to| !is_near(*to, white) && !attacked.contains(to))
                .peekable();
            let is_check = rook_moves(rook, [white, black]).contains(&black);
            (is_check || escapes.peek().is_some())
                && escapes.all(|to| to != rook && is_won([white, to, rook, 0]))
        };
        let of_turn = |ending: &&Ending| ending[3] == usize::from(ply % 2 == 0);
        let open = endings.iter().filter(|it| it.1.is_none()).map(|it| it.0).filter(of_turn);
        let found: Vec<Ending> = open.filter(|it| settles(it)).copied().collect();
        if found.is_empty() && ply > 0 {
            return endings;
        }
        for ending in found {
            endings.insert(ending, Some(ply));
        }
    }
    unreachable!()
}

/// All endings of a board have the values that a search of another kind finds, and those of a part of the
/// board have the mates that need no other part.
#[test]
fn rook_endings_are_solved_from_the_rules() {
    let corner: Vec<usize> = (0..64).filter(|it| it % 8 < 4 && it / 8 < 3).collect();
    let endings = rook_endings(&corner);
    let mut keys: Vec<Ending> = endings.keys().copied().collect();
    keys.sort_unstable();
    let letter =
        |ending: &Ending, square: usize| match ending[..3].iter().position(|it| *it == square) {
            Some(piece) => b"KkR"[piece],
            None => 0,
        };
    let record_of = |ending: &Ending| {
        let mut board = Board::EMPTY;
        for square in ending[..3].iter().copied() {
            let at = Square::at((square % 8) as u8, (square / 8) as u8);
            board.put(at, Piece::from_letter(letter(ending, square)));
        }
        let turn = [Color::White, Color::Black][ending[3]];
        EpdRecord::new(Position::new(board, turn, Castling::NONE, None).unwrap())
    };
    let records: Vec<EpdRecord> = keys.iter().map(record_of).collect();
    let solved = solved_with(&records, BacksolveOptions::default());
    let mut mates = 0;
    for (ending, record) in keys.iter().zip(&solved) {
        let ce = record.integer(Opcode::CE);
        match endings[ending] {
            Some(plies) if plies % 2 == 0 => assert_eq!(ce, Some(plies - 32767), "{ending:?}"),
            Some(plies) => assert_eq!(ce, Some(32767 - plies), "{ending:?}"),
            None => assert!(ce.is_none_or(|ce| ce.abs() <= MAX_PLAIN.into()), "{ending:?} {ce:?}"),
        }
        mates += u32::from(endings[ending].is_some());
    }
    assert!(mates > 1000, "{mates} of {}", keys.len());
}

/// Results by the rules come before any score.
#[test]
fn the_rules_go_before_scores() {
    assert_eq!(
        solved(&[
            "7R/8/8/8/8/1K6/8/k7 b - - ce 5;",
            "R6k/8/6K1/8/8/8/8/8 b - - ce 12;",
            "7k/5Q2/8/8/8/8/8/K7 b - - ce -900;",
            "8/8/8/3k4/8/3N4/8/K7 w - - ce 300; pm Nb4+;",
            "8/8/8/3k4/8/3NN3/8/K7 w - - ce 20;",
        ]),
        [
            "7R/8/8/8/8/1K6/8/k7 b - - ce 5;",
            "R6k/8/6K1/8/8/8/8/8 b - - ce -32767; ce_own 12;",
            "7k/5Q2/8/8/8/8/8/K7 b - - ce 0; ce_own -900;",
            "8/8/8/3k4/8/3N4/8/K7 w - - ce 0; ce_own 300;",
            "8/8/8/3k4/8/3NN3/8/K7 w - - ce 20;",
        ]
    );
}

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const NF3: &str = "rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R b KQkq -";
const NF6: &str = "rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq -";
const NG1: &str = "rnbqkb1r/pppppppp/5n2/8/8/8/PPPPPPPP/RNBQKBNR b KQkq -";

/// A circle of which nothing is known is a draw that hangs on the repetition; a score in
/// it, as a lower bound, is better or worse than that.
#[test]
fn circles() {
    let circle = |ce: &str| {
        [START, NF3, NF6, NG1]
            .map(|it| record(&format!("{it} {}", if it == START { ce } else { "" })))
    };
    let draws = solved_with(&circle(""), BacksolveOptions::default());
    for (record, pm) in draws.iter().zip(["Nf3", "Nf6", "Ng1", "Ng8"]) {
        assert_eq!(record.integer(Opcode::CE), Some(0));
        assert_eq!(record.text_of(Opcode::PM).unwrap(), pm.as_bytes());
        assert!(record.operands(CE_REPEATS).is_some() && record.operands(CE_OWN) == Some(&[]));
    }
    let better = solved_with(&circle("ce 30;"), BacksolveOptions::default());
    let scores: Vec<_> = better.iter().map(|it| it.integer(Opcode::CE).unwrap()).collect();
    assert_eq!(scores, [30, -30, 30, -30]);
    assert!(better.iter().all(|it| it.operands(CE_REPEATS).is_none()));
    let worse = solved_with(&circle("ce -30;"), BacksolveOptions::default());
    assert!(worse.iter().all(|it| it.integer(Opcode::CE) == Some(0)));
    let options =
        BacksolveOptions { own_scores: OwnScores::Replaced, ..BacksolveOptions::default() };
    let replaced = solved_with(&circle("ce 30;"), options);
    assert!(replaced.iter().all(|it| it.integer(Opcode::CE) == Some(0)));
}

/// Own scores are lower bounds or go, unknown moves are passed over, `pm` is
/// the best move with the lowest ordinal.
#[test]
fn scores_and_moves() {
    let e4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";
    let d4 = "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq -";
    let root = format!("{START} ce 20; dm 3; pv e4 e5;");
    let book = [
        &root,
        &format!("{e4} ce -25;"),
        &format!("{d4} ce -25;"),
        NF3,
        &format!("{e4} acd 9; ce -22;"),
    ];
    let book: Vec<_> = book.iter().map(|line| record(line)).collect();
    let texts_of = |own_scores| {
        texts(&solved_with(
            &book,
            BacksolveOptions { own_scores, provenance: true, white_view: false },
        ))
    };
    let bound = texts_of(OwnScores::LowerBound);
    let leaf = format!("ce_leaf \"{d4}\"");
    assert_eq!(bound[0], format!("{START} ce 25; {leaf}; ce_own 20; ce_plies 1; pm d4;"));
    // The record that is not as deep keeps its score; it does not count.
    assert_eq!(bound[1..], texts(&book)[1..]);
    let mut high = book.clone();
    high[0] = record(&format!("{START} ce 40; pm c4;"));
    assert_eq!(texts(&solved_with(&high, BacksolveOptions::default()))[0], texts(&high)[0]);
    let options =
        BacksolveOptions { own_scores: OwnScores::Replaced, ..BacksolveOptions::default() };
    let replaced = solved_with(&high, options);
    assert_eq!(texts(&replaced)[0], format!("{START} ce 25; ce_own 40; pm d4;"));
    // Solved again, and with an analysis that has changed.
    assert_eq!(solved_with(&replaced, options), replaced);
    assert_eq!(
        texts(&solved_with(&replaced, BacksolveOptions::default()))[0],
        format!("{START} ce 40;")
    );
    let from_white = BacksolveOptions { white_view: true, ..BacksolveOptions::default() };
    assert_eq!(
        texts(&solved_with(&book, from_white))[..2],
        [format!("{START} ce 20; dm 3; pv e4 e5;"), format!("{e4} ce 25;")]
    );
    let none = solved(&[START, NF3]);
    assert_eq!(none, [START, NF3]);
    let foreign = format!("{START} ce 5; ce_own \"mine\";");
    assert_eq!(solved(&[&foreign]), [foreign.as_str()]);
}

#[test]
fn the_order_of_records_makes_no_difference() {
    let mut records = all_after(START, 2);
    for (number, record) in (0..).zip(&mut records) {
        let ce = (number * 7919) % 201 - 100;
        *record = self::record(&format!("{} ce {ce};", record.position()));
    }
    let options = BacksolveOptions { provenance: true, ..BacksolveOptions::default() };
    let forward = solved_with(&records, options);
    records.reverse();
    let mut backward = solved_with(&records, options);
    backward.reverse();
    assert_eq!(forward, backward);
    assert_eq!(solved_with(&forward, options), forward);
    assert!(forward[0].operands(CE_LEAF).is_some() && forward[0].operands(CE_PLIES).is_some());
}

/// Mates of several lengths, scores, draws by repetition, unknown values, and several records of a
/// position.
#[test]
fn records_in_any_memory_have_the_same_results() {
    let mut records = all_after("8/8/8/8/8/1K6/7R/k7 w - -", 6);
    records.extend(all_after("8/8/8/8/8/2k5/4p3/K7 w - -", 5));
    let again: Vec<_> = records.iter().step_by(3).cloned().collect();
    records.extend(again);
    for (number, record) in (0_i64..).zip(&mut records) {
        if number % 11 == 5 {
            let (ce, acd) = ((number * 7919) % 401 - 200, number % 4);
            *record = self::record(&format!("{} acd {acd}; ce {ce};", record.position()));
        }
    }
    assert!(records.len() > 3000, "{}", records.len());
    for own_scores in [OwnScores::LowerBound, OwnScores::Replaced] {
        let options = BacksolveOptions { own_scores, provenance: true, white_view: false };
        let expected = solved_with(&records, options);
        let scores: BTreeSet<_> = expected.iter().filter_map(|it| it.integer(Opcode::CE)).collect();
        assert!(scores.iter().filter(|ce| **ce > 32_700).count() > 2, "{scores:?}");
        assert!(scores.iter().filter(|ce| **ce < 1000 && **ce != 0).count() > 20, "{scores:?}");
        for opcode in [CE_REPEATS, CE_LEAF] {
            assert!(expected.iter().any(|it| it.operands(opcode).is_some()), "{opcode:?}");
        }
        assert!(expected.iter().any(|it| it.integer(Opcode::CE).is_none()));
        for memory_bytes in [1 << 10, 300_000] {
            let found = solved_in(memory_bytes, &records, options);
            assert!(texts(&found) == texts(&expected), "{memory_bytes}");
        }
    }
}
