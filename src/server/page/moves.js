// The table of moves.

import { columns } from "./columns.js";
import { $, h } from "./dom.js";
import { rove } from "./focus.js";
import { count, counted, gamesOf, shortName } from "./numbers.js";
import { isShownElsewhere } from "./opcodes.js";

let order = { key: null, direction: "descending" };

/** The columns that come first where there is not the room for all, and whether all are asked for. */
const firstColumns = ["san", "games", "weight", "results", "score"];
let isWide = false;

const filters = ["since", "until", "speeds", "ratings"];

/** Whether games are filtered, by what the library can tell apart. */
export const isFiltered = (asked, { notSplit = [] }) => filters.some((name) => asked[name].length > 0 && !notSplit.includes(name));

/** An answer whose moves without games are left out where games are filtered, unless a record says more of them. */
export const movesToShow = (asked, answer) => {
  if (!isFiltered(asked, answer)) return answer;
  const isTold = ({ operations = {} }) => Object.keys(operations).some((opcode) => !isShownElsewhere(opcode));
  return { ...answer, moves: answer.moves.filter((move) => gamesOf(move) > 0 || isTold(move)) };
};

const sorted = (moves, turn) => {
  const column = columns.find(({ key }) => key === order.key);
  if (!column) return moves;
  const sign = order.direction === "ascending" ? 1 : -1;
  const compare = (a, b) => {
    const [x, y] = [column.value(a, turn), column.value(b, turn)];
    // What is not known stands last, whatever the direction.
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
    return (x < y ? -1 : x > y ? 1 : 0) * sign;
  };
  return [...moves].sort(compare);
};

/** Shows the moves of a position; `actions` are `play(uci)` and `point(uci or null)`. */
export const showMoves = (answer, actions) => {
  const place = $("moves");
  const hadFocus = place.contains(document.activeElement) && document.activeElement !== place;
  const { moves, turn } = answer;
  if (moves.length === 0) {
    place.replaceChildren();
    if (hadFocus) place.focus();
    return;
  }
  const has = (column) => moves.some((move) => column.value(move, turn) !== undefined);
  const shown = columns.filter(has);
  const all = totals(answer);
  const again = (focus) => {
    showMoves(answer, actions);
    $("moves").querySelector(`[data-column="${focus}"]`)?.focus();
  };
  const rows = sorted(moves, turn).map((move) => row(move, shown, all, answer, actions));
  const hasMore = all.games > 0 && shown.some(({ key }) => !firstColumns.includes(key));
  const table = h("table", { class: hasMore && !isWide ? "moves brief" : "moves" },
    h("caption", { class: "unseen" }, `Moves for ${turn === "white" ? "White" : "Black"}`),
    h("thead", {}, h("tr", {}, shown.map((column) => head(column, again)))),
    h("tbody", { onkeydown: rove({ ArrowUp: -1, ArrowDown: 1 }), onmouseleave: () => actions.point(null) }, rows),
    (all.games > 0 || all.weight > 0) && h("tfoot", {}, h("tr", {}, sums(shown, all, turn, moves.length))));
  const scrolled = place.querySelector(".scroller")?.scrollLeft ?? 0;
  const scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Moves" }, table);
  place.replaceChildren(...(hasMore ? [widen(again)] : []), scroller);
  scroller.scrollLeft = scrolled;
  if (hadFocus) table.querySelector("tbody button")?.focus();
};

/** The choice of all columns, which is there where not all have room. */
const widen = (again) => h("button", {
  type: "button", class: "quiet widen", "aria-pressed": String(isWide), "data-column": "all",
  onclick: () => {
    isWide = !isWide;
    again("all");
  },
}, "All columns");

const totals = (answer) => ({
  games: answer.moves.reduce((sum, move) => sum + gamesOf(move), 0),
  counts: answer,
  weight: answer.weight,
  reached: answer.reached,
});

const head = (column, again) => {
  const isBy = order.key === column.key;
  const sort = () => {
    const first = column.first ?? "descending";
    const other = first === "descending" ? "ascending" : "descending";
    order = { key: column.key, direction: isBy && order.direction === first ? other : first };
    again(column.key);
  };
  const button = h("button", { type: "button", title: column.about, "data-column": column.key, onclick: sort },
    column.head, column.below && h("small", {}, column.below));
  return h("th", { scope: "col", class: column.key, "aria-sort": isBy ? order.direction : null }, button);
};

const row = (move, shown, all, { turn, opening }, { play, point }) => {
  const games = gamesOf(move);
  const name = move.opening ? `${move.opening.eco} ${move.opening.name}` : "";
  const described = [move.san, name, games ? counted(games, "game") : ""].filter(Boolean).join(", ");
  const button = h("button", {
    type: "button", "aria-label": `Play ${described}`,
    onfocus: ({ target }) => target.matches(":focus-visible") && point(move.uci), onblur: () => point(null),
    onclick: (event) => {
      event.stopPropagation();
      play(move.uci);
    },
  }, move.san);
  const cells = shown.slice(1).map((column) => {
    const value = column.value(move, turn);
    return h("td", { class: column.key }, value === undefined ? h("span", { class: "none" }, "–") : column.cell(value, move, all));
  });
  return h("tr", { "data-uci": move.uci, onmouseenter: () => point(move.uci), onclick: () => play(move.uci) },
    h("th", { scope: "row" }, button, ...named(move.opening, opening)), cells);
};

const named = (leadsTo, opening) => (leadsTo
  ? [h("span", { class: "eco" }, leadsTo.eco), h("small", { title: leadsTo.name }, shortName(leadsTo.name, opening?.name))]
  : []);

const sums = (shown, all, turn, moves) => [
  h("th", { scope: "row" }, h("span", { "aria-hidden": "true" }, "Σ"), h("span", { class: "unseen" }, "All"), h("small", {}, counted(moves, "move"))),
  ...shown.slice(1).map((column) => h("td", { class: column.key }, column.total?.(all, turn) ?? "")),
];

/** What the table says, in a sentence. */
export const movesInWords = ({ moves, reached }) => {
  const games = moves.reduce((sum, move) => sum + gamesOf(move), 0);
  const parts = [counted(moves.length, "move")];
  if (games > 0) parts.push(`${count(games)} ${games === 1 ? "game" : "games"}`);
  else if (reached) parts.push(`reached by ${counted(reached, "game")}`);
  return parts.join(", ");
};
