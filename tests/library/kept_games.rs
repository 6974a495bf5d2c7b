//! The games that positions list equal those of a brute-force search.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use epdb_chess::codec::{kept_game, packed, record};
use epdb_chess::model::{Game, KeptGame, Replay};
use epdb_library::kept_games::{listed, move_played};
use epdb_library::tally::{TallyBuilder, TallyOptions, TallyOrder};
use proptest::prelude::*;

use crate::games;

/// Games that meet, by other ways too, come back to positions, and share ratings and dates.
fn any_game() -> impl Strategy<Value = String> {
    let pick = |words: &'static [&'static str]| prop::sample::select(words);
    let elo = || pick(&["2700", "2701", "2600", "?", "", "0"]);
    let date = pick(&["2020.01.01", "2020.01.??", "2020.??.??", "????.??.??", "2019.12.31"]);
    let moves = (
        pick(&["1. e4", "1. Nf3", "1. d4"]),
        pick(&["e5", "Nf6"]),
        pick(&["2. Nc3", "2. a3", "2. Nc3 a6 3. Nb1 Nc6 4. Nc3 Nb8 5. Nb1", ""]),
    );
    (elo(), elo(), date, moves, 0..3u8, any::<bool>()).prop_map(
        |(white, black, date, (one, two, three), round, by_utc)| {
            let date_tag = if by_utc { "UTCDate" } else { "Date" };
            format!(
                "[{date_tag} \"{date}\"]\n[Round \"{round}\"]\n[WhiteElo \"{white}\"]\n\
                 [BlackElo \"{black}\"]\n\n{one} {two} {three} *\n\n"
            )
        },
    )
}

/// The list of a position, and the kept games by id.
type Built = (BTreeMap<Vec<u8>, Vec<KeptGame>>, BTreeMap<String, Vec<u8>>);

fn built(games: &[&Game], limit: u8, memory: usize, order: TallyOrder) -> Built {
    let options =
        TallyOptions { keep_games: Some(limit), same_game: None, ..TallyOptions::default() };
    let mut builder = TallyBuilder::new(options, std::env::temp_dir(), memory);
    for game in games {
        builder.add(game).unwrap();
    }
    let mut lists = BTreeMap::new();
    builder
        .drain(order, &mut |batch, _| {
            batch.each(&mut |bytes| {
                let record = record::decode(bytes)?.0;
                let board = packed::encode(record.position()).as_bytes().to_vec();
                let kept = listed(&[record]).expect("every position lists games");
                assert_eq!(kept.limit(), limit);
                assert!(lists.insert(board, kept.games().to_vec()).is_none());
                Ok(())
            })
        })
        .unwrap();
    let mut kept = BTreeMap::new();
    builder
        .drain_games(&mut |game| {
            let id = kept_game::id_of(game).to_string();
            assert!(kept.insert(id, game.to_vec()).is_none(), "each comes once");
            Ok(())
        })
        .unwrap();
    (lists, kept)
}

/// The numbers of a rating and of a date, 0 for what is not known.
fn ranks(game: &Game) -> (u16, u32) {
    let elo = |name: &str| game.tag(name).and_then(|elo| elo.parse::<u16>().ok()).unwrap_or(0);
    let (white, black) = (elo("WhiteElo"), elo("BlackElo"));
    let rating = if white == 0 || black == 0 { 0 } else { (white + black) / 2 };
    let date = ["Date", "UTCDate"].iter().filter_map(|name| game.tag(name));
    let date = date.map(|date| date.replace('.', "").replace('?', "0").parse::<u32>().unwrap());
    (rating, date.max().unwrap())
}

fn by_brute_force(games: &[Game], limit: usize) -> Built {
    let mut reached: BTreeMap<Vec<u8>, BTreeMap<String, (u16, u32)>> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for game in games {
        let mut bytes = Vec::new();
        kept_game::encode(game, &mut bytes).unwrap();
        let id = kept_game::id_of(&bytes).to_string();
        all.insert(id.clone(), bytes);
        let mut replay = Replay::new(game.start()).unwrap();
        let mut moves = game.main_line();
        loop {
            let board = packed::encode(&replay.position().identity()).as_bytes().to_vec();
            reached.entry(board).or_default().insert(id.clone(), ranks(game));
            let Some(mv) = moves.next() else { break };
            replay.play(mv);
        }
    }
    let mut lists = BTreeMap::new();
    let mut named = BTreeSet::new();
    for (board, games) in reached {
        let mut games: Vec<(String, (u16, u32))> = games.into_iter().collect();
        games.sort_by_key(|(id, (rating, date))| (Reverse(*date), Reverse(*rating), id.clone()));
        let latest: BTreeSet<String> = games.iter().take(limit).map(|(id, _)| id.clone()).collect();
        games.sort_by_key(|(id, (rating, date))| (Reverse(*rating), Reverse(*date), id.clone()));
        let best: BTreeSet<String> = games.iter().take(limit).map(|(id, _)| id.clone()).collect();
        games.retain(|(id, _)| best.contains(id) || latest.contains(id));
        named.extend(games.iter().map(|(id, _)| id.clone()));
        let kept = games.iter().map(|(id, (rating, date))| KeptGame {
            rating: Some(*rating).filter(|&rating| rating > 0),
            date: epdb_chess::model::GameDate::new(
                (date / 10_000) as u16,
                (date / 100 % 100) as u8,
                (date % 100) as u8,
            )
            .unwrap(),
            id: id.parse().unwrap(),
        });
        lists.insert(board, kept.collect());
    }
    all.retain(|id, _| named.contains(id));
    (lists, all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lists_are_those_of_brute_force(
        texts in prop::collection::vec(any_game(), 1..40), limit in 1..4u8, seed in any::<u64>(),
    ) {
        let games = games(&texts.concat());
        let wanted = by_brute_force(&games, limit.into());
        let in_order: Vec<&Game> = games.iter().collect();
        let mut shuffled = in_order.clone();
        shuffled.sort_by_key(|game| {
            let date = game.tag("Date").unwrap_or_default().len() as u64;
            (std::ptr::from_ref::<Game>(*game) as u64 ^ date).wrapping_mul(seed | 1)
        });
        for (games, memory, order) in [
            (&in_order, 64 << 20, TallyOrder::Key),
            (&shuffled, 64 << 20, TallyOrder::Games),
            (&shuffled, 1 << 10, TallyOrder::Key),
            (&in_order, 1 << 10, TallyOrder::Games),
        ] {
            prop_assert_eq!(&built(games, limit, memory, order), &wanted);
        }
    }
}

#[test]
fn the_move_is_that_of_the_first_time() {
    let pgn = "1. Nf3 Nf6 2. Ng1 Ng8 3. e4 *";
    let game = &games(pgn)[0];
    let start = game.start().position;
    assert_eq!(move_played(game, &start).unwrap().1.to_string(), "Nf3");
    let end =
        epdb_chess::parse_epd(b"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -").unwrap();
    assert_eq!(move_played(game, end.position()), None);
}
