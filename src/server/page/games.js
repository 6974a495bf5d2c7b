// The games that the library keeps of the position: the best rated and the latest.

import { $, h, section } from "./dom.js";

/** Shows the games; `open(game)` opens the moves of one. */
export const showGames = ({ top = [], recent = [] }, open) => {
  const lists = [["Top games", top], ["Recent games", recent]].filter(([, games]) => games.length);
  section($("games"), lists.flatMap(([title, games]) => [h("h3", {}, title), table(title, games, open)]));
};

const table = (title, games, open) => h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": title },
  h("table", { class: "kept" },
    h("thead", {}, h("tr", {}, ["Players", "Result", "Move"].map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, games.map((game) => row(game, open)))));

/** A player: the colour, the name and the rating. */
export const player = (side, { name, rating }, winner) => h("span", { class: winner === side ? "won" : null },
  h("span", {}, h("i", { class: `side ${side}`, "aria-hidden": "true" }), h("span", { class: "name" }, (name || "?").replace(/,(?=\S)/g, ", "))),
  rating ? h("small", {}, ` ${rating}`) : null);

const unseen = (words) => h("span", { class: "unseen" }, words);

/** Results as they are printed. */
export const signs = { "1-0": "1–0", "0-1": "0–1", "1/2-1/2": "½–½" };

const row = (game, open) => {
  const when = String(game.date ?? game.month ?? game.year ?? "").replaceAll("-", ".").replace(/(\.\?\?)+$/, "");
  const button = h("button", {
    type: "button",
    onclick: (event) => {
      event.stopPropagation();
      open(game);
    },
  }, unseen("Open the game "), player("white", game.white, game.winner), unseen(" against "), player("black", game.black, game.winner));
  return h("tr", { onclick: () => open(game) },
    h("th", { scope: "row" }, button, h("small", {}, [when, game.event].filter(Boolean).join(" · "))),
    h("td", { class: "result" }, signs[game.result] ?? game.result ?? "*"),
    h("td", { class: "san" }, game.san ?? "–"));
};
