// The columns of the table of moves: what they are called, what they say, and by what they are sorted.

import { h, wide } from "./dom.js";
import { count, counted, evaluation, gamesOf, percent, scoreOf } from "./numbers.js";

/** What became of games: a bar with percentages, and the numbers below. */
const results = (counts, isTotal = false) => {
  const { white = 0, draws = 0, black = 0, unknown = 0 } = counts;
  const games = white + draws + black;
  if (games === 0) return unknown ? `${counted(unknown, "game")} without a result` : "";
  const parts = [["white", white, "White won"], ["draws", draws, "draws"], ["black", black, "Black won"]];
  const bar = parts.map(([name, number]) => {
    const share = number / games;
    return wide(h("i", { class: name }, share >= 0.18 ? percent(share) : ""), share * 100);
  });
  const numbers = parts.map(([name, number, words]) =>
    h("span", { class: name, title: `${words}: ${percent(number / games, 1)}` }, h("span", { class: "unseen" }, `${words} `), count(number)));
  return [
    h("span", { class: "bar", "aria-hidden": "true", title: unknown ? `${count(unknown)} more without a result` : null }, bar),
    h("span", { class: "numbers" }, numbers),
    unknown ? h("span", { class: isTotal ? "unknown" : "unseen" }, `${count(unknown)} without a result`) : null,
  ];
};

/**
 * All columns. `value` is what is sorted by and tells whether there is anything to show (undefined where not);
 * `cell` shows it; `total` shows it of all moves together.
 */
export const columns = [
  {
    key: "san", head: "Move", first: "ascending",
    about: "The move, and the name of the opening that it leads to.",
    value: (move) => move.san,
  },
  {
    key: "games", head: "Played", below: "this move",
    about: "Games in which the move was played in this position, and their share of all games that went on from here.",
    value: (move) => gamesOf(move) || undefined,
    cell: (games, move, all) => [count(games), h("small", {}, percent(games / all.games, 1))],
    total: (all) => count(all.games),
  },
  {
    key: "weight", head: "Weight", below: "in the book",
    about: "The weight of the move in the opening book, and its share of all weights.",
    value: (move) => move.weight,
    cell: (weight, move, all) => [count(weight), all.weight ? h("small", {}, percent(weight / all.weight, 1)) : null],
    total: (all) => (all.weight === undefined ? "" : count(all.weight)),
  },
  {
    key: "reached", head: "Reached", below: "any way",
    about: "Games that reached the position behind the move, by this move or by any other order of moves.",
    value: (move) => move.reached,
    cell: (reached) => count(reached),
    total: (all) => (all.reached === undefined ? "" : [count(all.reached), h("small", {}, "this position")]),
  },
  {
    key: "results", head: "Results", below: "White, draws, Black",
    about: "Games that White won, drawn games, and games that Black won. Sorted by the share that White won.",
    value: (move) => (gamesOf(move) ? (move.white ?? 0) / Math.max(1, gamesOf(move) - (move.unknown ?? 0)) : undefined),
    cell: (_, move) => results(move, false),
    total: (all) => results(all.counts, true),
  },
  {
    key: "score", head: "Score", below: "mover",
    about: "The mover's share of the points: a win is one, a draw a half.",
    value: (move, turn) => scoreOf(move, turn) ?? undefined,
    cell: (score) => percent(score, 1),
    total: (all, turn) => (scoreOf(all.counts, turn) === null ? "" : percent(scoreOf(all.counts, turn), 1)),
  },
  {
    key: "rating", head: "Rating", below: "mean",
    about: "The mean rating of those who played the move; below it that of their opponents.",
    value: (move) => move.averageRating,
    cell: (rating, move) => [String(rating), move.averageOpponentRating ? h("small", {}, `vs ${move.averageOpponentRating}`) : null],
  },
  {
    key: "performance", head: "Perf.", below: "mover",
    about: "Performance: the rating that those who played the move showed with it.",
    value: (move) => move.performance,
    cell: (rating) => String(rating),
  },
  {
    key: "ce", head: "Eval", below: "mover",
    about: "The evaluation of the position behind the move in pawns, from the view of the player who makes it; #3 is mate in three.",
    value: (move) => move.ce,
    cell: (ce) => evaluation(ce),
  },
  {
    key: "years", head: "Years", below: "last, first",
    about: "The years of the first and the last game with the move. Sorted by the last.",
    value: (move) => move.years && move.years[1] * 10000 + move.years[0],
    cell: (_, { years: [first, last] }) => [String(last), first === last ? null : h("small", {}, `from ${first}`)],
  },
];
