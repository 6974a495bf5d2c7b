// The line so far: its moves, the names of the openings that it went through, and its texts.

import { $, h } from "./dom.js";
import { identity, numbering } from "./numbers.js";

const standard = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/** Whether a line begins with the start array. */
export const isStandard = (start) => identity(start) === identity(standard);

/**
 * Shows the line and what branches off it; `goTo(ply)` goes to a position of it, `restart()` to the start array. A
 * branch has the number of moves that it shares with the line, the names of its others, and `go()`.
 */
export const showLine = ({ start, entries, ply, branches, goTo, restart }) => {
  const moves = entries.map((entry, place) => {
    const { text, isWhite } = numbering(start, place);
    const isHere = place + 1 === ply;
    const button = h("button", {
      type: "button", "aria-current": isHere ? "step" : null, class: place >= ply ? "ahead" : null,
      title: entry.opening ? `${entry.opening.eco} ${entry.opening.name}` : null,
      onclick: () => goTo(place + 1),
    }, entry.san);
    const number = isWhite || place === 0 ? h("span", { class: "number" }, text) : null;
    return h("li", {}, number, button);
  });
  const from = isStandard(start)
    ? h("p", { class: "from" }, h("button", { type: "button", "aria-current": ply === 0 ? "step" : null, onclick: () => goTo(0) }, "Start position"),
        entries.length === 0 && h("span", {}, " Move a piece, or choose one from the table."))
    : h("p", { class: "from" }, h("button", { type: "button", "aria-current": ply === 0 ? "step" : null, onclick: () => goTo(0) }, "From"), " ", h("code", {}, start), " ",
        h("button", { type: "button", class: "quiet", onclick: restart }, "Back to the start array"));
  const list = moves.length ? h("ol", { class: "san", "aria-label": "Moves" }, moves) : null;
  const isFocused = $("line").contains(document.activeElement);
  const scrolled = $("line").querySelector(".san")?.scrollTop ?? 0;
  $("line").replaceChildren(from, ...[list, others(start, ply, branches), names(entries, ply, goTo)].filter(Boolean));
  const current = $("line").querySelector("[aria-current]");
  if (isFocused) current?.focus();
  if (list) keepInView(list, current, scrolled);
};

const keepInView = (list, current, scrolled) => {
  list.scrollTop = scrolled;
  if (!current || !list.contains(current)) return;
  const [box, item] = [list.getBoundingClientRect(), current.getBoundingClientRect()];
  if (item.top < box.top) list.scrollTop -= box.top - item.top;
  if (item.bottom > box.bottom) list.scrollTop += item.bottom - box.bottom;
};

/** Moves of a branch that are shown. */
const longest = 6;

/** The lines that were left; those that leave the line at the position that is shown come first. */
const others = (start, ply, branches) => {
  if (branches.length === 0) return null;
  const sorted = [...branches].sort((a, b) => (b.shared === ply) - (a.shared === ply));
  const item = ({ shared, names, go }) => {
    const words = names.slice(0, longest).map((san, place) => {
      const { text, isWhite } = numbering(start, shared + place);
      return isWhite || place === 0 ? `${text} ${san}` : san;
    });
    const moves = words.join(" ") + (names.length > longest ? " …" : "");
    return h("li", {}, h("button", { type: "button", class: shared === ply ? "here" : null, "aria-label": `Line ${moves}`, onclick: go }, moves));
  };
  return h("div", { class: "branches" }, h("span", { class: "from" }, "Other lines"), h("ol", { "aria-label": "Other lines" }, sorted.map(item)));
};

/** Each name where it first comes. */
const names = (entries, ply, goTo) => {
  const named = entries.map(({ opening }, place) => ({ opening, ply: place + 1 })).filter(({ opening }) => opening);
  const changes = named.filter(({ opening }, place) => place === 0 || named[place - 1].opening.name !== opening.name);
  if (changes.length === 0) return null;
  return h("ol", { class: "names", "aria-label": "Names on the way" }, changes.map(({ opening, ply: at }) =>
    h("li", {}, h("button", { type: "button", class: at > ply ? "ahead" : null, onclick: () => goTo(at) },
      h("span", { class: "eco" }, opening.eco), " ", opening.name))));
};

const noTags = [["Event", "?"], ["Site", "?"], ["Date", "????.??.??"], ["Round", "?"], ["White", "?"], ["Black", "?"], ["Result", "*"]];

/** The line as PGN, up to a ply; `game` is the game whose line it is. What is not all of the game has no result. */
export const toPgn = (start, entries, isChess960, game) => {
  const isAll = game?.play.length === entries.length;
  const own = game?.tags.filter(([name]) => !["SetUp", "FEN", "Variant"].includes(name)) ?? noTags;
  const tags = own.map(([name, value]) => [name, name === "Result" && !isAll ? "*" : value]);
  const result = Object.fromEntries(tags).Result ?? "*";
  if (isChess960) tags.push(["Variant", "Chess960"]);
  if (!isStandard(start) || isChess960) tags.push(["SetUp", "1"], ["FEN", start]);
  const words = entries.flatMap(({ san }, place) => {
    const { number, isWhite } = numbering(start, place);
    if (isWhite) return [`${number}.`, san];
    return place === 0 ? [`${number}...`, san] : [san];
  });
  const rows = [""];
  for (const word of [...words, result]) {
    const longer = rows.at(-1) ? `${rows.at(-1)} ${word}` : word;
    if (longer.length < 80) rows[rows.length - 1] = longer;
    else rows.push(word);
  }
  return `${tags.map(([name, value]) => `[${name} "${value.replace(/["\\]/g, "\\$&")}"]`).join("\n")}\n\n${rows.join("\n")}\n`;
};
