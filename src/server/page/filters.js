// Which games count: by date, speed and rating, where the library tells games apart by them.

import { $, h } from "./dom.js";

const speeds = ["ultraBullet", "bullet", "blitz", "rapid", "classical", "correspondence"];
const ratings = ["0", "1000", "1200", "1400", "1600", "1800", "2000", "2200", "2500"];
const filterNames = { since: "date", until: "date", speeds: "speed", ratings: "rating" };

/** Names of values that are no words. */
const speedNames = { ultraBullet: "ultra-bullet" };
const speedName = (speed) => speedNames[speed] ?? speed;

/** What is filtered by, in words; empty for nothing. */
const inWords = ({ since, until, speeds, ratings }) => [
  since && until ? `${since} to ${until}` : since ? `since ${since}` : until ? `until ${until}` : "",
  speeds.map(speedName).join(", "),
  ratings.map((rating) => `${rating}+`).join(", "),
].filter(Boolean).join(" · ");

/** Shows the filters that a source has, and says which do not work there; `change(part of the state)`. */
export const showFilters = (source, state, notSplit, change) => {
  const place = $("filters");
  const splits = source?.splits ?? [];
  const wasOpen = place.querySelector("details")?.open ?? false;
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.filter : null;
  const active = inWords(state);
  const fields = [
    (splits.includes("year") || splits.includes("month")) && dates(state, splits.includes("month"), change),
    splits.includes("speed") && choices("Speeds", "speeds", speeds, state, change),
    splits.includes("rating") && choices("Ratings", "ratings", ratings, state, change),
  ].filter(Boolean);
  const nothing = { since: "", until: "", speeds: [], ratings: [] };
  const clear = active && h("button", { type: "button", class: "quiet", "data-filter": "clear", onclick: () => change(nothing) }, "Take all games");
  const parts = [];
  if (fields.length) {
    parts.push(h("details", { open: wasOpen },
      h("summary", {}, "Filter", active ? h("span", { class: "active" }, active) : h("span", { class: "active none" }, "all games")),
      h("div", { class: "fields" }, fields, clear)));
  }
  const missed = [...new Set((notSplit ?? []).map((filter) => filterNames[filter] ?? filter))];
  if (missed.length) {
    parts.push(h("p", { class: "notice" }, `${source?.name ?? "This library"} does not tell games apart by ${missed.join(" or ")}: games of any ${missed.join(" and ")} are counted. `,
      !fields.length && clear));
  }
  place.replaceChildren(...parts);
  if (focused) place.querySelector(`[data-filter="${focused}"]`)?.focus();
};

const dates = ({ since, until }, hasMonths, change) => {
  const pattern = hasMonths ? "\\d{4}(-\\d{2})?" : "\\d{4}";
  const hint = hasMonths ? "2015 or 2015-03" : "2015";
  const field = (name, label, value) => h("label", {}, `${label} `, h("input", {
    type: "text", inputmode: "numeric", size: "9", pattern, placeholder: hint, value, "data-filter": name,
    onchange: (event) => event.target.reportValidity() && change({ [name]: event.target.value.trim() }),
  }));
  return h("fieldset", {}, h("legend", {}, "Dates"), field("since", "since", since), field("until", "until", until));
};

const choices = (title, name, values, state, change) => h("fieldset", {}, h("legend", {}, title),
  values.map((value) => h("label", { class: "choice" }, h("input", {
    type: "checkbox", checked: state[name].includes(value), "data-filter": `${name}-${value}`,
    onchange: (event) => {
      const chosen = values.filter((it) => (it === value ? event.target.checked : state[name].includes(it)));
      change({ [name]: chosen });
    },
  }), h("span", {}, name === "ratings" ? (value === "0" ? "<1000" : `${value}+`) : speedName(value)))));
