// The libraries that are served, and the switch between them.

import { $, h } from "./dom.js";
import { counted } from "./numbers.js";

/** Shows the switch; `change(name)` chooses another. */
export const showSources = (sources, chosen, change) => {
  const place = $("sources").querySelector(".choices");
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren(...sources.map(({ name }) => h("label", {},
    h("input", { type: "radio", name: "source", value: name, checked: name === chosen, onchange: () => change(name) }),
    h("span", {}, name))));
  if (hadFocus) place.querySelector("input:checked")?.focus();
  const source = sources.find(({ name }) => name === chosen);
  $("about").replaceChildren(...(source ? about(source) : []));
  $("rights").textContent = rights(source?.about ?? {});
  $("sources").hidden = sources.length === 0;
};

/** Where the data comes from, and who may use it. */
const rights = ({ source = [], licence = [] }) => [
  source.length && `Data: ${source.join(", ")}`, licence.length && `Licence: ${licence.join(", ")}`,
].filter(Boolean).join(" · ");

const about = (source) => {
  const facts = [
    source.format,
    source.records !== undefined && source.records !== null && counted(source.records, "record"),
    source.games ? counted(source.games, "game") : null,
    source.opened ? `opened ${day(source.opened)}` : null,
  ].filter(Boolean);
  const settings = source.settings ? h("span", { class: "settings" }, "tallied with ", h("code", {}, source.settings)) : null;
  return [facts.join(" · "), settings && h("span", { class: "before" }, " · "), settings].filter(Boolean);
};

/** The day of seconds since 1970. */
const day = (seconds) => new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
