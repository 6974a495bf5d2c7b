//! Games that are decided before their end.

use epdb_chess::model::score::Score::{self, Centipawns, Mated, Mates};
use epdb_chess::model::{Color, GameResult};
use epdb_referee::{AdjudicationRules, Adjudicator, DrawRule, ResignRule};

/// The ply at which scores, White's first, decide a game, and how.
fn decided(rules: AdjudicationRules, scores: &[Option<Score>]) -> Option<(u32, GameResult)> {
    let mut adjudicator = Adjudicator::new(rules);
    (1..).zip(scores).find_map(|(ply, score)| {
        let mover = Color::ALL[(ply as usize + 1) % 2];
        adjudicator.judge(ply, mover, *score).map(|result| (ply, result))
    })
}

fn scores(values: &[i32]) -> Vec<Option<Score>> {
    values.iter().map(|value| Some(Centipawns(*value))).collect()
}

#[test]
fn nothing_is_decided_without_rules() {
    assert_eq!(decided(AdjudicationRules::default(), &[Some(Mated(2)); 400]), None);
}

#[test]
fn a_player_lost_for_some_moves_has_lost() {
    let one_sided = ResignRule { moves: 3, score: 600, two_sided: false };
    let resign = |resign| AdjudicationRules { resign: Some(resign), ..Default::default() };
    let black_lost = scores(&[700, -600, 700, -600, 500, -601, 800]);
    assert_eq!(decided(resign(one_sided), &black_lost), Some((6, GameResult::WhiteWins)));
    // The row of the opponent was broken off and is not long enough before ply 11.
    let two_sided = ResignRule { two_sided: true, ..one_sided };
    let mut both = black_lost.clone();
    both.extend(scores(&[-700, 900, -700, 650]));
    assert_eq!(decided(resign(two_sided), &black_lost), None);
    assert_eq!(decided(resign(two_sided), &both), Some((11, GameResult::WhiteWins)));
    let interrupted = scores(&[0, -700, 0, -700, 0, -599, 0, -700, 0, -700]);
    assert_eq!(decided(resign(one_sided), &interrupted), None);
    let mut by_heart = scores(&[0, -700, 0, -700, 0]);
    by_heart.extend([None, None]);
    by_heart.extend(scores(&[-700]));
    assert_eq!(decided(resign(one_sided), &by_heart), None);
    let mated = [Some(Mated(8)), Some(Mates(7)), Some(Mated(6)), None, Some(Mated(4))];
    assert_eq!(decided(resign(one_sided), &mated), Some((5, GameResult::BlackWins)));
}

#[test]
fn a_level_game_is_drawn_after_its_moves() {
    let draw = Some(DrawRule { from_move: 4, moves: 2, score: 10 });
    let rules = AdjudicationRules { draw, ..Default::default() };
    assert_eq!(decided(rules, &scores(&[0; 20])), Some((8, GameResult::Draw)));
    let mut late = scores(&[0, 0, 0, 0, 0, 0, 0, 11, 10, -10, 10]);
    assert_eq!(decided(rules, &late), None);
    late.push(Some(Centipawns(-9)));
    assert_eq!(decided(rules, &late), Some((12, GameResult::Draw)));
}

#[test]
fn a_long_game_is_drawn() {
    let rules = AdjudicationRules { max_moves: Some(5), ..Default::default() };
    assert_eq!(decided(rules, &scores(&[300; 30])), Some((10, GameResult::Draw)));
}
