// The focus, when the focused element is rendered again.

import { $ } from "./dom.js";

const parts = "#browse, #filters, #trouble, #records, #backsolved, #parents, #games, #game";

/** The focused element, if it is in a part that is rendered again. */
export const focusBefore = () => {
  const node = document.activeElement;
  const part = node?.closest(parts);
  return part ? { part, words: node.textContent, isVisible: node.matches(":focus-visible") } : null;
};

/** Gives the focus to what took the place of what had it, else to the moves. */
export const refocus = (before) => {
  if (!before || document.activeElement !== document.body) return;
  const left = [...before.part.querySelectorAll("button:enabled, summary")];
  const next = before.part.id === "games" ? $("line").querySelector("[aria-current]") : (left.find((node) => node.textContent === before.words) ?? left[0]);
  (next ?? firstMove()).focus({ preventScroll: !before.isVisible });
};

/** Makes a listener for keys that go from button to button, by steps such as `{ ArrowUp: -1, ArrowDown: 1 }`. */
export const rove = (steps) => (event) => {
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const next = buttons[buttons.indexOf(document.activeElement) + steps[event.key]];
  if (!next) return;
  event.preventDefault();
  next.focus();
};

/** The first move of the table, or the place of the table. */
export const firstMove = () => $("moves").querySelector("tbody button") ?? $("moves");
