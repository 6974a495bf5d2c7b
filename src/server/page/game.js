// The game whose moves are on the board: who played it, and its text.

import { $, h, section } from "./dom.js";
import { player, signs } from "./games.js";

/** The tags of a game, in its order. */
export const tagsOf = (pgn) => {
  const [head] = pgn.split(/\r?\n[ \t]*\r?\n/);
  return [...head.matchAll(/^\[(\w+)\s+"((?:[^"\\]|\\.)*)"\]/gm)].map(([, name, value]) => [name, value.replace(/\\(.)/g, "$1")]);
};

const winners = { "1-0": "white", "0-1": "black" };

/** Shows the game on the board, or none; `copyGame()` copies all of it. */
export const showGame = (game, copyGame) => {
  if (!game) return section($("game"), []);
  const tags = Object.fromEntries(game.tags);
  const told = (name) => (/^[?.\-*]*$/.test(tags[name] ?? "") ? "" : tags[name]);
  const winner = winners[tags.Result];
  const side = (colour, name) => player(colour, { name: told(name), rating: told(`${name}Elo`) }, winner);
  const facts = [told("Date").replace(/(\.\?\?)+$/, ""), told("Event"), told("Site"), told("Round") && `round ${told("Round")}`];
  const address = `data:application/x-chess-pgn;charset=utf-8,${encodeURIComponent(game.pgn)}`;
  section($("game"), [
    h("p", { class: "players" }, side("white", "White"), side("black", "Black"), h("strong", {}, signs[tags.Result] ?? tags.Result ?? "*")),
    h("p", { class: "facts" }, facts.filter(Boolean).join(" · ")),
    h("p", { class: "copy" }, h("button", { type: "button", onclick: copyGame }, "Copy game"), h("a", { class: "link", href: address, download: `${game.id}.pgn` }, "PGN")),
  ]);
};
