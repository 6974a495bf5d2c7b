// Questions to the server, or to the reader of libraries in the browser.

import { $ } from "./dom.js";
import { Unreadable, answerHere, openLibrary, whenReaderEnds } from "./worker.js";

/** The server answered that it cannot: `message` says why. */
export class Refused extends Error {}

/** What a site says of its libraries; null on the page of a server. */
const site = JSON.parse($("site")?.textContent ?? "null");
/** Libraries that are read in the browser, by name: those of a site, and those that were dropped on the page. */
const here = new Map((site?.sources ?? []).map((source) => [source.name, source]));
/** The libraries of these that are open, or being opened. */
const opened = new Map();
/** The names of those that are open. */
const ready = new Set();

// Those of a site are opened again when they are asked; those that were dropped on the page are gone.
whenReaderEnds(() => {
  for (const [name, { url, bytes }] of here) if (!url && !bytes) here.delete(name);
  opened.clear();
  ready.clear();
});

/** True on a site, which has no server. */
export const isSite = site !== null;

/** Adds a library that is open in the reader; it replaces another of this name. */
export const addLibrary = (source) => {
  here.set(source.name, source);
  opened.set(source.name, Promise.resolve());
};

/** The name of the library that a question is for. */
const sourceOf = (values) => values.source || (isSite ? [...here.keys()][0] : "");

const opening = (name) => {
  if (!opened.has(name)) {
    const open = openLibrary(here.get(name)).then(() => ready.add(name));
    open.catch(() => opened.delete(name));
    opened.set(name, open);
  }
  return opened.get(name);
};

const queryOf = (values) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    const text = Array.isArray(value) ? value.join(",") : value;
    if (text) query.set(name, text);
  }
  return query;
};

const askServer = async (path, query, signal) => {
  const response = await fetch(`api/${path}?${query}`, { signal, headers: { accept: "application/json" } });
  if (response.ok) return response.json();
  if (response.status === 414 || response.status === 431) throw new Refused("the text is too long");
  const text = (await response.text()).trim();
  throw new Refused(text || `the server answered ${response.status}`);
};

/** Whether a question is for the start position, without filters. */
const isStart = (path, query) =>
  path === "position" && String(query) === String(new URLSearchParams({ source: query.get("source"), parents: "1" }));

const askReader = async (path, query, signal, limits) => {
  const name = query.get("source");
  if (here.has(name)) {
    const library = opening(name);
    // Until the library is open, the page itself knows the moves of the start position.
    if (!ready.has(name) && here.get(name).start && isStart(path, query)) return here.get(name).start;
    await library;
  }
  const { status, body, bytes } = await answerHere(path, query, limits);
  // A question that nobody waits for any more has no answer.
  signal?.throwIfAborted();
  if (status === 200) return body;
  throw status < 500 ? new Refused(body) : Object.assign(new Unreadable(body), { bytes });
};

const ask = (path, values, signal, limits) => {
  const source = sourceOf(values);
  const isHere = isSite || here.has(source);
  return (isHere ? askReader : askServer)(path, queryOf({ ...values, source }), signal, limits);
};

export const askSources = async (signal) => [...(isSite ? [] : await askServer("sources", "", signal)), ...here.values()];

/** What the reader says of the libraries that are open in it. */
export const askOwn = () => askReader("sources", new URLSearchParams());

/** The position behind `play`, and the games that count. */
const questionOf = ({ source, fen, since, until, speeds, ratings }, play) => ({ source, fen, play, since, until, speeds, ratings });

/** What the source knows of the position behind `play`. */
export const askPosition = (state, play, signal, parents = true) =>
  ask("position", { ...questionOf(state, play), parents: parents ? "1" : "" }, signal);

/** The games that the source lists for the position behind `play`. */
export const askGames = (state, play, signal) => ask("games", questionOf(state, play), signal);

/** A line from text: moves from a position, a FEN, or a game. */
export const askLine = (text, fen, play, signal) => ask("line", { text: shortened(text), fen, play }, signal);

/** The PGN of a game that the source keeps. */
export const askGame = (source, id, signal) => ask("game", { source, id }, signal);

/**
 * The games of the source that reach a position for which an expression is true. If more than `maxBytes` bytes would
 * have to be loaded, the error has their number, `bytes`.
 */
export const askSearch = (source, where, maxBytes) => ask("search", { source, where }, undefined, { maxBytes });

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
