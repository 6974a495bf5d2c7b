// A pattern of pieces, set on a board of its own by hand or by keyboard, and the games that reach it.

import { $, h, section } from "./dom.js";
import { player, signs } from "./games.js";
import { count, counted, percent } from "./numbers.js";
import { drawing, pieceName } from "./pieces.js";

/** More bytes are loaded only after a question. */
const MAX_UNASKED = 5e6;

const files = "abcdefgh";
/** What a square may have, besides a piece: its sign in a pattern, the sign that is shown, its name. */
const others = [
  ["?", "", "anything"], ["_", "∅", "empty"], ["!", "●", "any piece"], ["A", "○", "any white piece"], ["a", "◍", "any black piece"],
];
const pieces = "KQRBNPkqrbnp";
const nameOf = (sign) => others.find(([other]) => other === sign)?.[2] ?? pieceName(sign);
const faceOf = (sign) => (pieces.includes(sign) ? drawing(sign) : others.find(([other]) => other === sign)[1]);

/** The signs of the squares that are set. */
const set = new Map();
let chosen = "P";
let cursor = "e4";
let actions = null;

const cells = new Map();

const put = (square, sign) => {
  if (sign === "?") set.delete(square);
  else set.set(square, sign);
  mark(square);
};

const mark = (square) => {
  const sign = set.get(square) ?? "?";
  cells.get(square).replaceChildren(faceOf(sign));
  cells.get(square).setAttribute("aria-label", `${square}, ${nameOf(sign)}`);
};

const moveTo = (square) => {
  cells.get(cursor).tabIndex = -1;
  cursor = square;
  cells.get(cursor).tabIndex = 0;
  cells.get(cursor).focus();
};

const onKey = (event) => {
  const steps = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (steps[event.key]) {
    const [right, up] = steps[event.key];
    const square = (files[files.indexOf(cursor[0]) + right] ?? cursor[0]) + Math.min(8, Math.max(1, Number(cursor[1]) + up));
    moveTo(square);
  } else if (pieces.includes(event.key) || others.some(([sign]) => sign === event.key)) {
    put(cursor, event.key);
    actions.say(cells.get(cursor).getAttribute("aria-label"));
  } else if (["Delete", "Backspace"].includes(event.key)) {
    put(cursor, "?");
  } else {
    return;
  }
  event.preventDefault();
};

const cell = (square) => {
  const isLight = (square.charCodeAt(0) + Number(square[1])) % 2 === 1;
  const use = () => {
    moveTo(square);
    put(square, set.get(square) === chosen ? "?" : chosen);
  };
  const node = h("div", { role: "gridcell", tabindex: "-1", class: isLight ? "light" : "dark", onclick: use });
  node.addEventListener("keydown", (event) => [" ", "Enter"].includes(event.key) && (event.preventDefault(), use()));
  cells.set(square, node);
  return node;
};

/** The board with White below. */
const board = () => h("div", { class: "setup", role: "grid", "aria-label": "Pattern", onkeydown: onKey },
  [8, 7, 6, 5, 4, 3, 2, 1].map((rank) => h("div", { role: "row" }, [...files].map((file) => cell(file + rank)))));

/** What a click sets. */
const palette = () => h("fieldset", { class: "palette" }, h("legend", { class: "unseen" }, "Set by a click"),
  [...pieces, ...others.map(([sign]) => sign)].map((sign) => h("label", { title: nameOf(sign) },
    h("input", { type: "radio", name: "sign", value: sign, "aria-label": nameOf(sign), checked: sign === chosen, onchange: () => { chosen = sign; } }),
    h("span", { "aria-hidden": "true" }, sign === "?" ? "✕" : faceOf(sign)))));

/** The pattern as the expressions of `--where` write it. */
const expression = () => {
  const rows = [8, 7, 6, 5, 4, 3, 2, 1].map((rank) => [...files].map((file) => set.get(file + rank) ?? "?").join(""));
  return `board('${rows.map((row) => row.replace(/\?+/g, (run) => String(run.length))).join("/")}')`;
};

const fill = (fen) => {
  set.clear();
  if (fen) {
    fen.split(" ")[0].split("/").forEach((row, down) => {
      const squares = row.replace(/\d/g, (digit) => "?".repeat(Number(digit)));
      [...squares].forEach((sign, across) => sign !== "?" && set.set(files[across] + (8 - down), sign));
    });
  }
  [...cells.keys()].forEach(mark);
};

const find = async (maxBytes) => {
  const where = expression();
  $("pattern-answer").textContent = set.size ? "Searching…" : "Set a piece first.";
  if (!set.size) return;
  try {
    const answer = await actions.search(where, maxBytes);
    $("pattern").close();
    showFound(where, answer);
  } catch (error) {
    $("pattern-answer").replaceChildren(error.message, " ", error.bytes ? button("Load them", () => find(Infinity)) : "");
  }
};

const button = (words, onclick, kind = "quiet") => h("button", { type: "button", class: kind, onclick }, words);

/** Shows the games that reach the pattern; `null` for none. */
export const showFound = (where, answer) => {
  if (!answer) return section($("found"), []);
  const { totals, games, searched, keptGames, countedGames } = answer;
  const shares = ["wins", "draws", "losses"].map((kind) => percent(totals.games ? totals[kind] / totals.games : 0));
  const moves = totals.moves.slice(0, 5).map(({ name, games: number }) => `${name} ${count(number)}`);
  const cut = searched < keptGames ? ` of the first ${count(searched)} of ${count(keptGames)} games` : ` of ${counted(searched, "game")}`;
  const unsearched = countedGames > keptGames ? ` The library counts ${count(countedGames)} games and keeps ${count(keptGames)} of them; only these are searched.` : "";
  const row = (game) => h("tr", { onclick: () => actions.open(game) },
    h("th", { scope: "row" }, h("button", { type: "button", onclick: (event) => { event.stopPropagation(); actions.open(game); } },
      player("white", game.white, game.winner), h("span", { class: "unseen" }, " against "), player("black", game.black, game.winner)),
      h("small", {}, [game.date ?? game.year, game.event].filter(Boolean).join(" · "))),
    h("td", { class: "result" }, signs[game.result] ?? game.result ?? "*"),
    h("td", { class: "san" }, game.move || "–", h("small", {}, ` ply ${game.ply}`)));
  section($("found"), [
    h("h3", {}, "Pattern", h("span", { class: "count" }, count(totals.games))),
    h("p", {}, h("code", {}, where), " ", h("button", { type: "button", class: "quiet", onclick: () => showFound(where, null) }, "Close")),
    h("p", {}, searched === 0 ? "This library keeps no games." : `Reached by ${counted(totals.games, "game")}${cut}. White won ${shares[0]}, draws ${shares[1]}, Black won ${shares[2]}.${unsearched}`),
    moves.length > 0 && h("p", {}, `Next moves: ${moves.join(", ")}`),
    games.length > 0 && h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Games with the pattern" },
      h("table", { class: "kept" }, h("thead", {}, h("tr", {}, ["Players", "Result", "Move"].map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", {}, games.map(row)))),
  ].filter(Boolean));
  $("found").scrollIntoView({ block: "nearest" });
};

/**
 * Listens to the buttons of patterns. `actions` are `search(expression, maxBytes)`, `open(game)`, `fen()` of the
 * position that is shown, and `say(words)`.
 */
export const startPattern = (given) => {
  actions = given;
  $("pattern").append(board(), palette(),
    h("p", { class: "hint" }, "Click sets what is chosen. By keyboard: arrow keys, then the letter of a piece (capital for White), A or a for any piece of a side, ! for any piece, _ for an empty square, Delete for anything."),
    h("div", { class: "row" }, button("Find", () => find(MAX_UNASKED), "main"), button("From the board", () => fill(actions.fen())), button("Clear", () => fill(null))),
    h("p", { id: "pattern-answer", role: "status" }));
  fill(null);
  cells.get(cursor).tabIndex = 0;
  $("pattern-open").addEventListener("click", () => {
    $("pattern-answer").textContent = "";
    $("pattern").showModal();
    cells.get(cursor).focus();
  });
  $("pattern-close").addEventListener("click", () => $("pattern").close());
};
