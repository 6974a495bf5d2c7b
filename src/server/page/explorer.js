// The explorer: the state, what changes it, and the parts of the page that show it.

import { empty, read, readQuery, write } from "./address.js";
import { showArrow } from "./arrows.js";
import { Board } from "./board.js";
import { branchesOf, goneOn, keepLine } from "./branches.js";
import { rememberRecord, showBrowse } from "./browse.js";
import { columns } from "./columns.js";
import { copy } from "./copy.js";
import { $, h, section } from "./dom.js";
import { showFilters } from "./filters.js";
import { firstMove, focusBefore, refocus } from "./focus.js";
import { showGame, tagsOf } from "./game.js";
import { showGames } from "./games.js";
import { isStandard, showLine, toPgn } from "./line.js";
import { isFiltered, movesInWords, movesToShow, showMoves } from "./moves.js";
import { counted, gamesOf, identity, numbering, spoken } from "./numbers.js";
import { startOwn } from "./own.js";
import { showParents } from "./parents.js";
import { showFound, startPattern } from "./pattern.js";
import { hasOperations, showBacksolved, showRecords } from "./records.js";
import { Refused, askGame, askGames, askLine, askPosition, askRecord, askSearch, askSources, isSite } from "./server.js";
import { showSources } from "./sources.js";
import { startTheme } from "./theme.js";
import { Unreadable } from "./worker.js";

/** The page stands in a frame of another page, with little room. */
const isEmbedded = new URLSearchParams(location.search).get("embed") === "1";

let state = read(location.hash);
if (location.search) {
  if (location.hash.length <= 1) state = readQuery(location.search);
  history.replaceState(null, "", location.pathname + (isEmbedded ? "?embed=1" : "") + write(state));
}
let sources = [];
/** The last answer, the state that it answers, and the game whose line it is. */
let shown = null;
let pending = null;
/** Ends the question for the games of the position that was shown before. */
let listing = null;
/** Moves of lines that the server told of, by the line up to them. */
const known = new Map();
/** Games that were opened, by what the address calls them. */
const opened = new Map();

const say = (words) => {
  // The same words are announced again.
  $("said").textContent = $("said").textContent === words ? `${words}\u00a0` : words;
};

const board = new Board($("board"), { onMove: (uci, wasDragged) => play(uci, wasDragged), say });
const point = (uci) => showArrow($("arrows"), uci, state.flip);

// The state and the address.

const chosenSource = () => sources.find(({ name }) => name === state.source) ?? (state.source ? null : sources[0]);

const isSameLine = (a, b) => a.fen === b.fen && a.play.join() === b.play.join();

/** Goes to a state that differs in some parts; `how` is `push` or `replace` for the history of the browser. */
const go = (changes, { how = "push", wasDragged = false, words = null } = {}) => {
  const next = { ...state, ...changes };
  if (!isSameLine(next, state)) {
    keepLine(state);
    if (!changes.game) next.game = "";
  }
  state = next;
  const address = write(state);
  try {
    if (address !== location.hash) history[how === "push" ? "pushState" : "replaceState"](null, "", address);
  } catch {
    // A browser refuses too many of them in a short time; the page goes on without.
  }
  return load({ wasDragged, words });
};

const fromAddress = () => {
  const next = read(location.hash);
  if (write(next) === write(state) && !$("trouble").hasChildNodes()) return;
  state = next;
  load({ isLink: true });
};

const upTo = (ply) => state.play.slice(0, ply);

/** Plays a move in the position that is shown; a line that goes on with it stays, or comes back. */
const play = (uci, wasDragged = false) => {
  point(null);
  const isAhead = state.play[state.ply] === uci;
  const line = isAhead ? state.play : goneOn({ fen: state.fen, play: [...upTo(state.ply), uci] });
  go({ play: line, ply: state.ply + 1 }, { wasDragged });
};

const goTo = (ply) => {
  const bounded = Math.max(0, Math.min(ply, state.play.length));
  if (bounded !== state.ply) go({ ply: bounded });
};

const goToFen = (fen) => go({ fen, play: [], ply: 0 });
const restart = () => go({ fen: "", play: [], ply: 0 });

const goToParent = (parent) => {
  const before = shown.answer.line.at(-2)?.fen ?? shown.answer.start;
  if (state.ply > 0 && identity(before) === identity(parent.fen)) goTo(state.ply - 1);
  else goToFen(parent.fen);
};

// Questions.

/** Asks what is known of the position and shows it; the latest question counts. `isLink`: the address asks. */
const load = async ({ wasDragged = false, words = null, isLink = false } = {}) => {
  pending?.abort();
  const question = new AbortController();
  pending = question;
  const asked = state;
  showEntryError("");
  document.body.classList.add("busy");
  $("position").setAttribute("aria-busy", "true");
  try {
    if (sources.length === 0) sources = await askSources(question.signal);
    const answer = movesToShow(asked, await askPosition(asked, asked.play.slice(0, asked.ply), question.signal));
    remember(asked, answer.line);
    if (!entriesOf(asked)) remember(asked, (await askPosition(asked, asked.play, question.signal, false)).line);
    const game = await gameOn(asked, question.signal);
    if (isNews(answer)) sources = await askSources(question.signal);
    if (pending !== question) return;
    const before = shown;
    const focus = focusBefore();
    shown = { answer, asked, game };
    if (before?.answer.source !== answer.source) showFound("", null);
    showTrouble(null);
    showAll(before, wasDragged);
    listGames(shown);
    refocus(focus);
    say([words, inWords(answer, before)].filter(Boolean).join(" "));
  } catch (error) {
    if (error.name === "AbortError" || pending !== question) return;
    const focus = focusBefore();
    const isRefused = error instanceof Refused;
    // The position before is not the answer to another address.
    if (isRefused && isLink) showNothing();
    else board.restore();
    // What was refused is no place to go on from.
    if (isRefused) state = shown?.asked ?? empty();
    showTrouble(error);
    showSwitch();
    refocus(focus);
  } finally {
    if (pending === question) {
      pending = null;
      document.body.classList.remove("busy");
      $("position").removeAttribute("aria-busy");
    }
  }
};

/** Lists the games of a position. They come after its moves, because a site receives much for them. */
const listGames = async ({ answer, asked }) => {
  listing?.abort();
  listing = new AbortController();
  const { signal } = listing;
  const isListed = answer.found && sources.find(({ name }) => name === answer.source)?.keepsGames;
  $("games").setAttribute("aria-busy", "true");
  if ($("games").contains(document.activeElement)) document.activeElement.blur();
  try {
    const games = isListed ? await askGames(asked, asked.play.slice(0, asked.ply), signal) : {};
    if (!signal.aborted) showGames(games, openGame);
  } catch (error) {
    if (!signal.aborted) section($("games"), [h("p", {}, `The games of this position cannot be listed: ${error.message}`)]);
  } finally {
    if (!signal.aborted) $("games").removeAttribute("aria-busy");
  }
};

/** Whether an answer is of another library than the last, or of a new state of it. */
const isNews = ({ source, changes }) => shown !== null && (shown.answer.source !== source || shown.answer.changes !== changes);

/** The game that an address names, with its line. */
const gameCalled = async (name, signal) => {
  if (!opened.has(name)) {
    const [id, source = ""] = name.split(/@(.*)/s);
    const { pgn } = await askGame(source, id, signal);
    const line = await askLine(pgn, "", [], signal);
    opened.set(name, { id, source, pgn, tags: tagsOf(pgn), fen: isStandard(line.start) ? "" : line.start, play: line.play });
  }
  return opened.get(name);
};

/** The game that a state names, where the line is its line. */
const gameOn = async (asked, signal) => {
  if (!asked.game) return null;
  try {
    const game = await gameCalled(asked.game, signal);
    return isSameLine(game, asked) ? game : null;
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
};

const lineKey = ({ fen }, moves) => `${fen}|${moves.join(",")}`;

const remember = (asked, line) => {
  if (known.size > 5000) known.clear();
  line.forEach((entry, place) => known.set(lineKey(asked, asked.play.slice(0, place + 1)), entry));
};

/** All moves of the line, also those ahead; null where the server has not told of them. */
const entriesOf = (asked) => {
  const entries = asked.play.map((_, place) => known.get(lineKey(asked, asked.play.slice(0, place + 1))));
  return entries.includes(undefined) ? null : entries;
};

// What is shown.

const showAll = (before, wasDragged) => {
  const { answer, asked, game } = shown;
  const entries = entriesOf(asked) ?? answer.line;
  showBoard(before, wasDragged);
  showGame(game, () => copy("game", game.pgn, say));
  showLine({ start: answer.start, entries, ply: asked.ply, branches: branches(asked), goTo, restart });
  showHeading(answer);
  showSwitch();
  showBrowse(chosenSource(), shown, goToRecord);
  showFilters(chosenSource(), asked, answer.notSplit, (changes) => go(changes));
  showMoves(answer, { play, point });
  showMissing(answer);
  showRecords(answer, { playText, point, copy: (what, text) => copy(what, text, say) });
  showBacksolved(answer, { playText, point, goToFen });
  showParents(answer, { goToParent, point });
  document.querySelectorAll(".controls button, [data-copy]").forEach((button) => { button.disabled = false; });
  for (const [id, isOff] of [["first", asked.ply === 0], ["back", asked.ply === 0], ["forward", asked.ply >= entries.length], ["last", asked.ply >= entries.length]]) {
    $(id).setAttribute("aria-disabled", String(isOff));
  }
  $("flip").setAttribute("aria-pressed", String(asked.flip));
  const last = answer.line.at(-1);
  document.title = [answer.opening?.name ?? (last ? `${numbering(answer.start, asked.ply - 1).text} ${last.san}` : ""), "Opening explorer"].filter(Boolean).join(" · ");
};

/** Clears the page: the address leads to nothing. */
const showNothing = () => {
  shown = null;
  listing?.abort();
  board.clear();
  point(null);
  for (const id of ["game", "browse", "records", "backsolved", "parents", "games"]) section($(id), []);
  for (const id of ["line", "filters", "moves", "status"]) $(id).replaceChildren();
  $("eco").hidden = true;
  $("opening").textContent = "Nothing to show";
  document.title = "Opening explorer";
  document.querySelectorAll(".controls button, [data-copy]").forEach((button) => { button.disabled = true; });
};

/** The branches off the line, with the words of their moves. */
const branches = (asked) => branchesOf(asked).map(({ play: moves, shared }) => {
  const entry = (_, place) => known.get(lineKey(asked, moves.slice(0, place + 1)));
  const names = moves.map((uci, place) => entry(uci, place)?.san ?? uci).slice(shared);
  return { shared, names, go: () => go({ play: moves, ply: shared + 1 }) };
});

const showSwitch = () => showSources(sources, state.source || sources[0]?.name, (name) => go({ source: name }));

const showBoard = (before, wasDragged) => {
  const { answer, asked } = shown;
  const uci = answer.line.at(-1)?.uci;
  const squares = uci ? [uci.slice(0, 2), uci.slice(2, 4)] : [];
  const wasBefore = before && uci && identity(before.answer.fen) === identity(answer.line.at(-2)?.fen ?? answer.start);
  const isCastling = wasBefore && before.answer.legal.some((move) => move.takesRook && move.uci === uci);
  board.show({
    fen: answer.fen, legal: answer.legal, check: answer.check, turn: answer.turn,
    lastMove: squares, isFlipped: asked.flip, slide: wasBefore && !wasDragged && !isCastling ? squares : null,
  });
  point(null);
};

const sides = { white: "White", black: "Black" };

const showHeading = (answer) => {
  const { opening } = answer;
  $("eco").textContent = opening?.eco ?? "";
  $("eco").hidden = !opening;
  $("opening").textContent = opening?.name ?? (answer.line.length === 0 && isStandard(answer.start) ? "Start position" : answer.chess960 ? "Chess960 position" : "Position");
  const facts = [stateOfPlay(answer)];
  if (answer.reached !== undefined && answer.found) facts.push(`reached by ${counted(answer.reached, "game")}`);
  if (answer.chess960 && opening) facts.push("Chess960");
  $("status").replaceChildren(h("span", { class: `turn ${answer.turn}`, "aria-hidden": "true" }), facts.join(" · "));
};

const stateOfPlay = ({ over, turn, check }) => {
  const mover = sides[turn];
  if (over === "checkmate") return `Checkmate: ${turn === "white" ? "Black" : "White"} has won`;
  if (over === "stalemate") return `Stalemate: ${mover} has no legal move, the game is drawn`;
  if (over === "insufficient") return "Drawn: neither side has the material to mate";
  return check ? `${mover} to move, in check` : `${mover} to move`;
};

/** Instead of an empty table: why it is empty, and where to go. */
const showMissing = (answer) => {
  if (isWithoutGames(answer)) {
    const all = h("button", { type: "button", class: "quiet", onclick: () => go({ since: "", until: "", speeds: [], ratings: [] }) }, "Take all games");
    $("moves").prepend(h("div", { class: "missing" }, h("p", { class: "big" }, "No game matches the filters."), all));
  } else if (answer.moves.length === 0) {
    const others = h("p", { class: "others", hidden: true });
    $("moves").append(h("div", { class: "missing" }, missing(answer, chosenSource()?.name ?? "this library"), others));
    if (!answer.found) offerOthers(others);
  }
};

/** Whether filters leave no game of a position that the library has. */
const isWithoutGames = (answer) => answer.found && isFiltered(shown.asked, answer) && [answer, ...answer.moves].every((counts) => gamesOf(counts) === 0);

const missing = (answer, name) => {
  const isOver = answer.over === "checkmate" || answer.over === "stalemate";
  const parts = [];
  if (isOver) parts.push(h("p", { class: "big" }, answer.over === "checkmate" ? "Checkmate" : "Stalemate"), h("p", {}, "No move can be played here."));
  if (!answer.found) {
    parts.push(h("p", { class: isOver ? null : "big" }, `This position is not in ${name}.`), nearest(answer, name));
  } else if (!isOver && hasOperations(answer)) {
    parts.push(h("p", { class: "big" }, "This position has a record."), h("p", {}, `What it says is shown with it. No move from here leads to another position of ${name}.`));
  } else if (!isOver) {
    parts.push(h("p", { class: "big" }, "No move is known from here."), h("p", {}, `${name} has this position, and none that a move from here leads to.`));
  }
  return parts;
};

const mostOthers = 8;

/** Offers the other libraries that have the position. */
const offerOthers = async (place) => {
  const { answer, asked } = shown;
  const others = sources.map(({ name }) => name).filter((name) => name !== answer.source).slice(0, mostOthers);
  const found = await Promise.all(others.map((source) => isIn({ ...asked, source })));
  const having = others.filter((_, at) => found[at]);
  place.hidden = having.length === 0;
  place.replaceChildren("Look in ", ...having.map((name) => h("button", { type: "button", class: "quiet", onclick: () => go({ source: name }) }, name)));
};

/** Whether a library has the position of a state; what cannot be asked has it not. */
const isIn = async (asked) => {
  try {
    return (await askPosition(asked, asked.play.slice(0, asked.ply), undefined, false)).found;
  } catch {
    return false;
  }
};

const nearest = ({ nearest, start }, name) => {
  if (!nearest) return h("p", {}, "Nor is any earlier position of the line.");
  const move = nearest.ply > 0 ? known.get(lineKey(state, upTo(nearest.ply))) : null;
  const where = move ? `after ${numbering(start, nearest.ply - 1).text} ${move.san}` : "where the line begins";
  return h("p", {}, `The last position of the line that ${name} has is `,
    h("button", { type: "button", class: "link", onclick: () => goTo(nearest.ply) }, where), ".");
};

const showTrouble = (error) => {
  const place = $("trouble");
  if (!error) return place.replaceChildren();
  if (error instanceof Refused) {
    const why = error.message.replace(/^bad request: /, "");
    place.replaceChildren(h("p", { class: "notice bad" }, `${shown ? "The server refused" : "This link cannot be shown"}: ${why} `,
      h("button", { type: "button", class: "quiet", onclick: () => go({ source: "", fen: "", play: [], ply: 0, since: "", until: "", speeds: [], ratings: [] }) }, "Go to the start")));
  } else {
    const why = error instanceof Unreadable ? `The library cannot be read: ${error.message}.` : "The server does not answer.";
    place.replaceChildren(h("p", { class: "notice bad" }, `${why} What you do next asks again. `,
      h("button", { type: "button", class: "quiet", onclick: () => load() }, "Ask again")));
  }
};

/** The announcement after an answer. */
const inWords = (answer, before) => {
  const last = answer.line.at(-1);
  const isNext = last && (!before || identity(before.answer.fen) !== identity(answer.fen));
  const parts = [];
  if (isNext) parts.push(`${numbering(answer.start, answer.line.length - 1).text.replace("…", ".")} ${spoken(last.san)}.`);
  if (answer.opening && answer.opening.name !== before?.answer.opening?.name) parts.push(`${answer.opening.name}.`);
  parts.push(answer.over ? `${stateOfPlay(answer)}.` : "");
  if (!answer.found) parts.push("Not in this library.");
  if (answer.moves.length) parts.push(`${sides[answer.turn]} has ${movesInWords(answer)}.`);
  return parts.filter(Boolean).join(" ");
};

// What is entered.

/** Goes where a text says: moves, a FEN, or a game. */
const enter = async (text) => {
  const line = await askLine(text, state.fen, upTo(state.ply));
  const played = upTo(state.ply);
  const goesOn = identity(line.start) === identity(shown?.answer.start ?? "") && played.every((uci, place) => line.play[place] === uci);
  const fen = goesOn ? state.fen : isStandard(line.start) ? "" : line.start;
  await go({ fen, play: line.play, ply: line.play.length });
};

const refusal = (error) => (error instanceof Refused || error instanceof Unreadable ? error.message : "The server does not answer.");

const playText = async (text) => {
  try {
    await enter(text);
  } catch (error) {
    showTrouble(error);
  }
};

const showEntryError = (words) => {
  $("entry-error").textContent = words;
  if (words) $("box").setAttribute("aria-invalid", "true");
  else $("box").removeAttribute("aria-invalid");
};

const submit = async () => {
  const text = $("box").value.trim().replace(/^(["'`])(.*)\1$/s, "$2").trim();
  showEntryError("");
  if (!text) return;
  try {
    await enter(text);
    $("box").value = "";
  } catch (error) {
    showEntryError(refusal(error));
  }
};

/** Opens a kept game at a position, or at that which is shown, where it is on its main line. */
const openGame = async (game) => {
  const here = identity(game.fen ?? shown.answer.fen);
  try {
    const name = `${game.id}@${shown.answer.source}`;
    const { fen, play: moves } = await gameCalled(name);
    const { line: entries, start: first } = await askPosition({ ...state, fen }, moves, undefined, false);
    remember({ fen, play: moves }, entries);
    const place = entries.findIndex(({ fen }) => identity(fen) === here);
    const words = `Game ${game.white.name} against ${game.black.name}.`;
    const ply = identity(first) === here || place < 0 ? 0 : place + 1;
    await go({ fen, play: moves, ply, game: name }, { words });
    $("board-panel").scrollIntoView({ block: "nearest" });
  } catch (error) {
    showTrouble(error);
  }
};

/** Goes to a record of the library by its number. */
const goToRecord = async (number) => {
  try {
    const { fen } = await askRecord(shown.answer.source, number);
    rememberRecord(shown.answer.source, number, fen);
    await goToFen(fen);
  } catch (error) {
    showTrouble(error);
  }
};

/** The address of what is shown, which names the library. */
const link = () => new URL(write({ ...state, source: shown.answer.source }), location.href).href;

/** What another page needs to show the board with this position. */
const frame = () => {
  const address = new URL(location.href);
  address.search = "?embed=1";
  address.hash = write({ ...state, source: shown.answer.source });
  return `<iframe src="${address.href.replaceAll("&", "&amp;")}" width="360" height="640" title="Opening explorer"></iframe>`;
};

// What is listened to.

const texts = {
  FEN: () => shown.answer.fen,
  EPD: () => identity(shown.answer.fen),
  PGN: () => toPgn(shown.answer.start, shown.answer.line, shown.answer.chess960, shown.game),
  link,
  frame,
};

const flip = () => {
  go({ flip: !state.flip }, { how: "replace", words: state.flip ? "White below." : "Black below." });
};

const openHelp = () => {
  $("help-columns").replaceChildren(...columns.map(({ head, about }) => h("div", {}, h("dt", {}, head), h("dd", {}, about))));
  $("help").showModal();
};

const onClick = (id, action) => $(id).addEventListener("click", (event) => {
  event.preventDefault();
  action();
});

const keys = {
  ArrowLeft: () => goTo(state.ply - 1),
  ArrowRight: () => goTo(state.ply + 1),
  "Shift+ArrowLeft": () => goTo(0),
  "Shift+ArrowRight": () => goTo(state.play.length),
  "/": () => $("box").focus(),
  f: flip,
  "?": openHelp,
};

const onKey = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, textarea, select")) return;
  // What is wider than its place is scrolled by the same keys.
  if (event.target.matches(".scroller") && event.target.scrollWidth > event.target.clientWidth) return;
  const isOnBoard = board.hasFocus && event.key.startsWith("Arrow") && !event.shiftKey;
  const name = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
  if (isOnBoard || !keys[name] || (!shown && !["/", "?"].includes(name))) return;
  event.preventDefault();
  keys[name]();
};

/** Goes where a text leads that is pasted outside of the fields. */
const onPaste = (event) => {
  if (event.target.closest("input, textarea, select") || document.querySelector("dialog[open]")) return;
  const text = event.clipboardData.getData("text/plain");
  if (!text.trim()) return;
  event.preventDefault();
  $("box").value = text;
  submit();
};

/** How far a wheel turns for a move, in pixels. A touchpad sends many small turns. */
const notch = 60;
const lineHeight = 20;
let turned = 0;

/** Goes through the line by the wheel over the board. Without a line the wheel is for the page. */
const onWheel = (event) => {
  if (event.ctrlKey || event.deltaY === 0 || !shown || state.play.length === 0) return;
  event.preventDefault();
  const by = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * lineHeight;
  turned = Math.sign(turned) === Math.sign(by) ? turned + by : by;
  if (Math.abs(turned) < notch) return;
  turned = 0;
  goTo(state.ply + Math.sign(by));
};

/** Takes a library that was opened on the page into the switch, and goes to it. */
const showOwn = async (name) => {
  sources = await askSources();
  state = { ...state, source: "" };
  go({ source: name });
};

const start = () => {
  $("unstarted").remove();
  document.body.classList.toggle("embedded", isEmbedded);
  // The page of a server may not be framed.
  document.querySelector("[data-copy=frame]").hidden = !isSite;
  startTheme();
  startPattern({
    search: (where, maxBytes) => askSearch(shown?.answer.source ?? state.source, where, maxBytes), open: openGame, say, fen: () => shown?.answer.fen,
  });
  startOwn({ names: () => sources.map(({ name }) => name), show: showOwn, say });
  onClick("home", restart);
  onClick("skip", () => firstMove().focus());
  onClick("first", () => goTo(0));
  onClick("back", () => goTo(state.ply - 1));
  onClick("forward", () => goTo(state.ply + 1));
  onClick("last", () => goTo(state.play.length));
  onClick("flip", flip);
  onClick("help-open", openHelp);
  onClick("help-close", () => $("help").close());
  document.querySelectorAll("[data-copy]").forEach((button) => {
    button.addEventListener("click", () => shown && copy(button.dataset.copy, texts[button.dataset.copy](), say));
  });
  $("entry").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  $("box").addEventListener("keydown", (event) => {
    if (event.key === "Escape") $("box").blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  document.addEventListener("keydown", onKey);
  document.addEventListener("paste", onPaste);
  $("frame").addEventListener("wheel", onWheel, { passive: false });
  addEventListener("popstate", fromAddress);
  addEventListener("hashchange", fromAddress);
  load({ isLink: true });
};

start();
