// The records of the position: their operations by plain names, with moves that can be played.

import { $, h, section } from "./dom.js";
import { count, evaluation } from "./numbers.js";
import { isEvaluation, isLine, isMoveSet, isShownElsewhere, opcodeName } from "./opcodes.js";

const atFirst = 8;

/** Shows the records; `actions` are `playText(san)`, `point(uci or null)` and `copy(what, text)`. */
export const showRecords = (answer, actions) => {
  const records = answer.records ?? [];
  if (records.length === 0) return section($("records"), []);
  // Records of counts alone say nothing that the table does not.
  if (hasOperations(answer)) $("more").prepend($("records"));
  else $("more").append($("records"));
  const told = answer.recordCount ?? records.length;
  const list = h("div", {}, records.slice(0, atFirst).map((record) => card(record, answer, actions)));
  const rest = records.slice(atFirst);
  const all = h("button", { type: "button", class: "quiet", onclick: () => {
    all.remove();
    list.append(...rest.map((record) => card(record, answer, actions)));
    list.children[atFirst].querySelector("summary, button")?.focus();
  } }, `Show all ${count(records.length)} records`);
  section($("records"), [
    h("h3", {}, records.length === 1 ? "Record" : "Records", records.length > 1 && h("span", { class: "count" }, count(told))),
    list,
    ...(rest.length ? [all] : []),
    ...(told > records.length ? [h("p", { class: "hint" }, `The first ${count(records.length)} of ${count(told)} are shown.`)] : []),
  ]);
};

/** Whether a record says anything that is shown with it. */
export const hasOperations = ({ records = [] }) => records.some((record) => shownOf(record).length > 0);

const shownOf = (record) => Object.entries(record.operations ?? {}).filter(([opcode]) => !isShownElsewhere(opcode));

const card = (record, answer, actions) => {
  const shown = shownOf(record).sort(([a], [b]) => rank(a) - rank(b));
  const rows = shown.map(([opcode, operands]) => h("div", {},
    h("dt", {}, opcodeName(opcode) ?? opcode, " ", opcodeName(opcode) && h("code", {}, opcode)),
    h("dd", {}, operand(opcode, operands, answer, actions))));
  const source = h("details", {},
    h("summary", {}, `EPD of record ${record.number === undefined ? "" : count(record.number + 1)}`),
    h("pre", { tabindex: "0", role: "region", "aria-label": `EPD of record ${record.number === undefined ? "" : record.number + 1}` }, record.epd),
    h("button", { type: "button", class: "quiet", onclick: () => actions.copy("record", record.epd) }, "Copy record"));
  return h("article", { class: "record" }, rows.length ? h("dl", {}, rows) : null, source);
};

// Moves first, then evaluations, then words.
const rank = (opcode) => {
  if (opcode === "id") return -2;
  if (opcode === "bm") return -1;
  if (isMoveSet(opcode)) return 0;
  if (isEvaluation(opcode)) return 1;
  return isLine(opcode) ? 2 : 3;
};

const operand = (opcode, value, answer, actions) => {
  const words = Array.isArray(value) ? value.map(String) : typeof value === "string" ? value.split(/\s+/).filter(Boolean) : [];
  if (isMoveSet(opcode)) return h("span", { class: "chips" }, words.map((san) => chip(san, san, answer, actions)));
  if (isLine(opcode)) {
    return h("span", { class: "chips line" }, words.map((san, place) =>
      chip(san, words.slice(0, place + 1).join(" "), place === 0 ? answer : null, actions)));
  }
  if (isEvaluation(opcode) && Number.isInteger(value)) {
    return [h("strong", {}, evaluation(value)), ` for ${answer.turn === "white" ? "White" : "Black"}`];
  }
  if (opcode === "dm") return `${value} ${value === 1 ? "move" : "moves"}`;
  if (value === true || value === null) return "yes";
  if (Number.isInteger(value) && ["acn", "acms", "acs"].includes(opcode)) return count(value);
  return Array.isArray(value) ? words.join(" ") : String(value);
};

/** A move that plays all moves up to it; a first move is pointed at on the board too. */
const chip = (label, text, answer, { playText, point }) => {
  const bare = (san) => san.replace(/[+#!?]+$/, "");
  const move = answer?.legal.find(({ san, uci }) => bare(san) === bare(label) || uci === label);
  const pointed = move ? { onmouseenter: () => point(move.uci), onmouseleave: () => point(null), onfocus: () => point(move.uci), onblur: () => point(null) } : {};
  return h("button", { type: "button", class: "chip", "aria-label": `Play ${text}`, onclick: () => playText(text), ...pointed }, label);
};

/** Shows the backsolved value, and where it comes from. */
export const showBacksolved = (answer, actions) => {
  const value = answer.backsolved;
  if (!value) return section($("backsolved"), []);
  const mover = answer.turn === "white" ? "White" : "Black";
  const parts = [h("p", { class: "value" }, h("strong", {}, evaluation(value.ce)), ` for ${mover}`)];
  if (value.leaf) {
    const far = value.plies === null || value.plies === undefined ? "" : `, ${value.plies} ${value.plies === 1 ? "ply" : "plies"} on`;
    parts.push(h("p", {}, "It comes from the evaluation of ",
      h("button", { type: "button", class: "link", onclick: () => actions.goToFen(value.leaf) }, "the position at the end of the best line"), `${far}.`));
  }
  if (value.repeats) parts.push(h("p", {}, "The best line repeats positions, which is a draw."));
  if (value.own !== null && value.own !== undefined) parts.push(h("p", {}, `The record's own evaluation was ${evaluation(value.own)}.`));
  for (const san of [value.pm ?? []].flat()) parts.push(h("p", { class: "chips" }, "Best move: ", chip(san, san, answer, actions)));
  section($("backsolved"), [h("h3", {}, "Backsolved value"), ...parts]);
};
