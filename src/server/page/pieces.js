// The pieces: shapes in a square of 64, from the ground up. `line` is drawn upon the shape, not filled.

import { s } from "./dom.js";

const base = "M13 56c0-4.4 2.6-6.6 6.4-7.2h25.2c3.8.6 6.4 2.8 6.4 7.2z";

const shapes = {
  p: {
    fill: [
      "M16.5 56c0-4.6 3-7 7-7.6h17c4 .6 7 3 7 7.6z",
      "M24.2 48.4c3.6-5 5-10.4 5-17.4h5.6c0 7 1.4 12.4 5 17.4z",
      "M23.4 32.4c0-2.2 1.4-3.6 3.4-3.6h10.4c2 0 3.4 1.4 3.4 3.6z",
      "M32 10.4a9.4 9.4 0 1 1 0 18.8 9.4 9.4 0 0 1 0-18.8z",
    ],
    line: [],
  },
  n: {
    fill: [
      "M19.6 49c-.4-9.2 9-11.6 9.6-19.6-3.4 3.6-7 3.4-9.8 7-2.4 3-7.6 2.4-8.6-1.4-1-3.8 2.4-6.6 4.2-10.4 1.6-3.6 1.8-6.8 4.4-9.8l-.6-7.4 7.6 4.4c12.6.2 21.6 9.4 21.2 24.4l-.8 12.8z",
      base,
    ],
    line: ["M21.4 20.6l2.6-1.2", "M14.6 32.8l1.2-.8", "M33 17.4c5.6 3 8.4 8.6 8.2 18.2"],
  },
  b: {
    fill: [
      "M22.4 49c3.6-3 5-6 5.2-10h8.8c.2 4 1.6 7 5.2 10z",
      "M25.8 36.8c-3.4-2.2-5.2-5.2-5-9 .4-5.8 5.6-10 11.2-15.6 5.6 5.6 10.8 9.8 11.2 15.6.2 3.8-1.6 6.8-5 9z",
      "M22 40.2c0-2.2 1.4-3.4 3.4-3.4h13.2c2 0 3.4 1.2 3.4 3.4z",
      "M32 6a3.3 3.3 0 1 1 0 6.6A3.3 3.3 0 0 1 32 6z",
      base,
    ],
    line: ["M37.8 19.4l-5.4 8"],
  },
  r: {
    fill: [
      "M20.6 49l2.2-22h18.4l2.2 22z",
      "M16.6 11.4h7v4.4h5v-4.4h6.8v4.4h5v-4.4h7v10.4L42 27.4H22l-5.4-5.6z",
      base,
    ],
    line: ["M22.6 27.4h18.8", "M21.4 42.6h21.2"],
  },
  q: {
    fill: [
      "M18.8 49L11.4 22.6l9.6 10L22.6 16 29 31l3-16.6L35 31l6.4-15L43 32.6l9.6-10L45.2 49z",
      "M11 17.2a3 3 0 1 1 0 6 3 3 0 0 1 0-6z",
      "M22 10.8a3 3 0 1 1 0 6 3 3 0 0 1 0-6z",
      "M32 8.6a3 3 0 1 1 0 6 3 3 0 0 1 0-6z",
      "M42 10.8a3 3 0 1 1 0 6 3 3 0 0 1 0-6z",
      "M53 17.2a3 3 0 1 1 0 6 3 3 0 0 1 0-6z",
      base,
    ],
    line: ["M18 42.4c9-2.6 19-2.6 28 0"],
  },
  k: {
    fill: [
      "M30.2 4.8h3.6v3.8h3.8v3.6h-3.8V18h-3.6v-5.8h-3.8V8.6h3.8z",
      "M32 16.6c4.2 0 6.6 3.4 5.4 7.6L32 36l-5.4-11.8c-1.2-4.2 1.2-7.6 5.4-7.6z",
      "M20 49C9.6 42 8.4 26.4 19.4 25.4 26 24.8 30.8 29.6 32 36c1.2-6.4 6-11.2 12.6-10.6C55.6 26.4 54.4 42 44 49z",
      base,
    ],
    line: ["M19.4 42.4c8.4-2.4 16.8-2.4 25.2 0"],
  },
};

/** The drawing of a piece, by its letter in FEN. */
export const drawing = (letter) => {
  const { fill, line } = shapes[letter.toLowerCase()];
  const side = letter === letter.toUpperCase() ? "white" : "black";
  const paths = [
    ...fill.map((d) => s("path", { d })),
    ...line.map((d) => s("path", { d, class: "line" })),
  ];
  return s("svg", { viewBox: "0 0 64 64", class: `piece ${side}`, "aria-hidden": "true" }, paths);
};

const kinds = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };

/** Such as `white pawn`. */
export const pieceName = (letter) =>
  `${letter === letter.toUpperCase() ? "white" : "black"} ${kinds[letter.toLowerCase()]}`;

/** Such as `knight`, for any letter of a piece. */
export const kindName = (letter) => kinds[letter.toLowerCase()];
