// The positions from which a move leads here.

import { $, h, section, wide } from "./dom.js";
import { count, counted, gamesOf, identity, numbering } from "./numbers.js";

const atFirst = 12;

/** Shows the parents; `actions` are `goToParent(parent)` and `point(uci or null)`. */
export const showParents = (answer, actions) => {
  const parents = answer.parents ?? [];
  if (parents.length === 0) return section($("parents"), []);
  const before = answer.line.length > 1 ? answer.line.at(-2).fen : answer.line.length ? answer.start : null;
  const most = Math.max(1, ...parents.map(gamesOf));
  const twins = ({ san }) => parents.filter((other) => other.san === san).length > 1;
  const item = (parent) => row(parent, { fen: answer.fen, before, most, hasTwin: twins(parent) }, actions);
  const list = h("ul", {}, parents.slice(0, atFirst).map(item));
  const rest = parents.slice(atFirst);
  const all = h("button", { type: "button", class: "quiet", onclick: () => {
    all.remove();
    list.append(...rest.map(item));
    list.children[atFirst].querySelector("button").focus();
  } }, `Show all ${count(parents.length)}`);
  section($("parents"), [
    h("h3", {}, "Reached by", parents.length > 1 && h("span", { class: "count" }, count(parents.length))),
    list,
    ...(rest.length ? [all] : []),
  ]);
};

const row = (parent, { fen, before, most, hasTwin }, { goToParent, point }) => {
  const games = gamesOf(parent);
  const isOnLine = before !== null && identity(before) === identity(parent.fen);
  const number = numbering(fen, -1).text;
  const words = games ? `${count(games)} ${games === 1 ? "time" : "times"}`
    : parent.weight === undefined ? "in no game counted" : `weight ${count(parent.weight)}`;
  const bar = h("span", { class: "track", "aria-hidden": "true" }, wide(h("i"), (games / most) * 100));
  const note = [
    hasTwin && `from ${parent.uci.slice(0, 2)}`,
    isOnLine && "the line on the board",
    parent.reached && `a position that ${counted(parent.reached, "game")} reached`,
  ].filter(Boolean).join(", ");
  return h("li", {}, h("button", {
    type: "button", onclick: () => goToParent(parent),
    onmouseenter: () => point(parent.uci), onmouseleave: () => point(null),
    onfocus: () => point(parent.uci), onblur: () => point(null),
  }, h("span", { class: "unseen" }, "Back to before "), h("span", { class: "san" }, `${number} ${parent.san}`), " ", bar, h("span", { class: "times" }, words), note && h("small", {}, note)));
};
