// Libraries of positions without games, record by record.

import { $, h, section } from "./dom.js";
import { count } from "./numbers.js";

let last = null;

/** Remembers the record that is gone to: of a position there may be several. */
export const rememberRecord = (source, number, fen) => {
  last = { source, number, fen };
};

/** The number of the record that is shown, or else of that where the line begins; null where there is none. */
const numberHere = (source, { answer, asked }) => {
  const isLast = last?.source === source.name && last.fen === asked.fen;
  const here = answer.records?.[0]?.number;
  return isLast && (asked.ply === 0 || here === undefined) ? last.number : (here ?? null);
};

/** Shows the way from record to record; `goToRecord(number)` goes there. */
export const showBrowse = (source, shown, goToRecord) => {
  const isOfGames = source?.games !== undefined || source?.settings !== undefined;
  if (!source?.records || isOfGames) return section($("browse"), []);
  const here = numberHere(source, shown);
  const step = (words, number, canGo) => h("button", { type: "button", class: "quiet", disabled: !canGo, onclick: () => goToRecord(number) }, words);
  if (here === null) return section($("browse"), [step("First record", 0, true)]);
  const end = source.records - 1;
  section($("browse"), [
    h("span", {}, `Record ${count(here + 1)} of ${count(source.records)}`),
    step("First", 0, here > 0), step("Previous", here - 1, here > 0), step("Next", here + 1, here < end),
  ]);
};
