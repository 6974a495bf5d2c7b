// Questions for the server.

/** The server answered that it cannot: `message` says why. */
export class Refused extends Error {}

const ask = async (path, values, signal) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    const text = Array.isArray(value) ? value.join(",") : value;
    if (text) query.set(name, text);
  }
  const response = await fetch(`api/${path}?${query}`, { signal, headers: { accept: "application/json" } });
  if (response.ok) return response.json();
  if (response.status === 414 || response.status === 431) throw new Refused("the text is too long");
  const text = (await response.text()).trim();
  throw new Refused(text || `the server answered ${response.status}`);
};

export const askSources = (signal) => ask("sources", {}, signal);

/** What the source knows of the position behind `play`. */
export const askPosition = (state, play, signal, parents = true) => {
  const { source, fen, since, until, speeds, ratings } = state;
  return ask("position", { source, fen, play, since, until, speeds, ratings, parents: parents ? "1" : "" }, signal);
};

/** A line from text: moves from a position, a FEN, or a game. */
export const askLine = (text, fen, play, signal) => ask("line", { text: shortened(text), fen, play }, signal);

/** The PGN of a game that the source keeps. */
export const askGame = (source, id, signal) => ask("game", { source, id }, signal);

/** The record of a number, of a source that is read record by record. */
export const askRecord = (source, number) => ask("record", { source, number: String(number) });

// The text goes into an address, whose length is limited: what is no move of the main line is left out first.
const shortened = (text) => {
  if (text.length < 4000) return text;
  let short = text.replace(/\{[^}]*\}/g, " ").replace(/;[^\n]*/g, " ").replace(/\$\d+/g, " ");
  short = short.replace(/^\s*\[(?!FEN|SetUp|Variant)[^\n]*\]\s*$/gm, "");
  for (let before = ""; before !== short; ) {
    before = short;
    short = short.replace(/\([^()]*\)/g, " ");
  }
  return short.replace(/[ \t]+/g, " ").trim();
};
