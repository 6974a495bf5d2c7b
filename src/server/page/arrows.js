// Arrows over the board.

import { s } from "./dom.js";

const middle = (square, isFlipped) => {
  const file = square.charCodeAt(0) - 97;
  const rank = Number(square[1]) - 1;
  return isFlipped ? [7.5 - file, rank + 0.5] : [file + 0.5, 7.5 - rank];
};

const headLength = 0.36;
const headWidth = 0.24;
const shaftWidth = 0.085;

/** An arrow as one outline, from the middle of a square to that of another. */
const arrow = (from, to) => {
  const [x0, y0] = from;
  const [x1, y1] = to;
  const length = Math.hypot(x1 - x0, y1 - y0);
  const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
  const at = (along, aside) => [x0 + ux * along - uy * aside, y0 + uy * along + ux * aside];
  const neck = length - headLength;
  const corners = [
    at(0.3, shaftWidth), at(neck, shaftWidth), at(neck, headWidth), at(length + 0.02, 0),
    at(neck, -headWidth), at(neck, -shaftWidth), at(0.3, -shaftWidth),
  ];
  return s("polygon", { points: corners.map(([x, y]) => `${x.toFixed(3)},${y.toFixed(3)}`).join(" ") });
};

/** Draws the arrow of a move, or none. */
export const showArrow = (overlay, uci, isFlipped) => {
  const ends = uci ? [uci.slice(0, 2), uci.slice(2, 4)] : [];
  const isArrow = ends.length === 2 && ends[0] !== ends[1];
  overlay.replaceChildren(...(isArrow ? [arrow(...ends.map((end) => middle(end, isFlipped)))] : []));
  overlay.dataset.move = isArrow ? uci : "";
};
