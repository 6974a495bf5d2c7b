// Numbers and moves as people read them.

import { kindName } from "./pieces.js";

const whole = new Intl.NumberFormat("en-US");

export const count = (number) => whole.format(number);

/** `1 game`, `2 games`. */
export const counted = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;

/** A share in percent; one decimal where it is small or asked for. */
export const percent = (share, digits = 0) => {
  if (share > 0 && share < 0.001) return "<0.1%";
  const places = digits || (share > 0 && share < 0.0095) ? 1 : 0;
  return `${(share * 100).toFixed(places)}%`;
};

export const gamesOf = ({ white = 0, draws = 0, black = 0, unknown = 0 }) => white + draws + black + unknown;

/** The mover's share of the points, or null. */
export const scoreOf = ({ white = 0, draws = 0, black = 0 }, turn) => {
  const games = white + draws + black;
  return games > 0 ? ((turn === "white" ? white : black) + draws / 2) / games : null;
};

/** Centipawns as pawns: `+0.34`, `−1.20`; a mate as `#5`. */
export const evaluation = (ce) => {
  const sign = ce > 0 ? "+" : ce < 0 ? "−" : "";
  const size = Math.abs(ce);
  if (size > 32000) return `${sign === "−" ? "−" : ""}#${Math.ceil((32767 - size) / 2)}`;
  return `${sign}${(size / 100).toFixed(2)}`;
};

/** SAN in words, for those who listen: `knight f3, check`. */
export const spoken = (san) => {
  if (/^O-O-O/.test(san)) return `castles queenside${ending(san)}`;
  if (/^O-O/.test(san)) return `castles kingside${ending(san)}`;
  const [, piece, from, takes, to, promoted] = /^([NBRQK]?)([a-h]?[1-8]?)(x?)([a-h][1-8])(?:=([NBRQ]))?/.exec(san) ?? [];
  if (!to) return san;
  const words = [piece && kindName(piece), from, takes && "takes", to];
  if (promoted) words.push(`promotes to ${kindName(promoted)}`);
  return words.filter(Boolean).join(" ") + ending(san);
};

const ending = (san) => (san.endsWith("#") ? ", checkmate" : san.endsWith("+") ? ", check" : "");

/** The number before a move that is `ply` plies behind a position: `3.` or `3…`, `…` where it is not known, and whether White makes it. */
export const numbering = (fen, ply) => {
  const fields = fen.split(" ");
  const blackFirst = fields[1] === "b" ? 1 : 0;
  const plies = ply + blackFirst;
  const number = (Number(fields[5]) || 1) + Math.floor(plies / 2);
  return { number, isWhite: plies % 2 === 0, text: `${number || ""}${plies % 2 === 0 ? "." : "…"}` };
};

/** The fields that tell positions apart. */
export const identity = (fen) => fen.split(" ").slice(0, 4).join(" ");

/** The name of an opening without what it has in common with another: `Zagreb Variation` within the Najdorf. */
export const shortName = (name, within) => {
  if (!within) return name;
  if (name === within) return name.split(/[:,] /).at(-1);
  if (name.startsWith(within) && /^[:,] /.test(name.slice(within.length))) return name.slice(within.length + 2);
  const family = within.split(":")[0];
  return name.startsWith(`${family}: `) ? name.slice(family.length + 2) : name;
};
