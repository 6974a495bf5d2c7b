// Games and libraries of the reader's own: chosen or dropped, counted in the browser, and saved.

import { $, h, section } from "./dom.js";
import { counted } from "./numbers.js";
import { addLibrary, askOwn } from "./server.js";
import { bytesOfLibrary, countGames, openLibrary, stopReader } from "./worker.js";

/** Names of libraries that were opened here, and the state of the one that is being counted. */
const own = new Set();
let actions = null;

/** A name like those of the server's libraries, which no other library has. */
const nameFor = (file) => {
  const [base] = file.name.replace(/[^\w.-]+/g, "-").replace(/^[-.]+/, "").split(".");
  const taken = actions.names().filter((name) => !own.has(name));
  let name = base || "games";
  for (let number = 2; taken.includes(name); number++) name = `${base}-${number}`;
  return name;
};

const sizeOf = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

const button = (words, onclick, attributes = {}) => h("button", { type: "button", class: "quiet", onclick, ...attributes }, words);

/** What is shown when nothing is being done. */
const rest = (...more) => section($("own"), [
  button("Open games", () => $("own-file").click()), ...more.filter(Boolean),
  h("span", {}, "or drop a PGN or a library here. Nothing leaves this machine."),
]);

const trouble = (words) => {
  rest(h("p", { class: "notice bad", role: "alert" }, words));
};

/** Asks whose games are to be counted. */
const askPlayer = (file) => {
  const player = h("input", { type: "text", id: "own-player", autocomplete: "off", spellcheck: "false", size: "16", placeholder: "all games" });
  const colour = h("select", { id: "own-colour" }, [["", "both colours"], ["white", "White"], ["black", "Black"]].map(([value, words]) => h("option", { value }, words)));
  const submit = (event) => {
    event.preventDefault();
    count(file, player.value.trim(), colour.value);
  };
  section($("own"), [h("form", { onsubmit: submit, "aria-label": `Count the games of ${file.name}` },
    h("strong", {}, file.name), h("small", {}, sizeOf(file.size)),
    h("label", {}, "Player ", player), h("label", {}, "with ", colour),
    h("button", { type: "submit", class: "main" }, "Count"), button("Cancel", () => rest()),
    h("p", { class: "hint" }, "The games are counted in this browser. Nothing leaves this machine."))]);
  player.focus();
};

const count = async (file, player, color) => {
  const name = nameFor(file);
  const bar = h("progress", { max: "1", value: "0", "aria-label": `Counting ${file.name}` });
  section($("own"), [h("span", {}, `Counting ${file.name}`), bar, button("Stop", stopReader)]);
  actions.say(`Counting ${file.name}.`);
  try {
    await countGames(file, {
      name, ...(player && { player }), ...(player && color && { color }), onProgress: (share) => { bar.value = share; },
    });
    await opened(name, true);
  } catch (error) {
    trouble(`${file.name}: ${error.message}`);
  }
};

const open = async (file) => {
  const name = nameFor(file);
  try {
    await openLibrary({ name, bytes: new Uint8Array(await file.arrayBuffer()) });
    await opened(name, false);
  } catch (error) {
    trouble(`${file.name}: ${error.message}`);
  }
};

/** Shows a library that was opened here. */
const opened = async (name, isNew) => {
  own.add(name);
  const source = (await askOwn()).find((source) => source.name === name);
  addLibrary(source);
  rest(isNew && button(`Save ${name}.epa`, () => save(name)));
  actions.say(source.games ? `${counted(source.games, "game")} counted.` : `${counted(source.records, "record")} opened.`);
  actions.show(name);
};

const save = async (name) => {
  const place = URL.createObjectURL(new Blob([await bytesOfLibrary(name)], { type: "application/octet-stream" }));
  h("a", { href: place, download: `${name}.epa` }).click();
  URL.revokeObjectURL(place);
};

/** Counts or opens a file by its first bytes. */
const take = async (file) => {
  const head = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  const isArchive = String.fromCharCode(...head) === archiveHead;
  if (isArchive) await open(file);
  else askPlayer(file);
};

/** The first bytes of an archive. */
const archiveHead = "\x89EPA";

const hasFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

/** Listens for files. `actions` are `names()`, `show(name)` and `say(words)`. */
export const startOwn = (given) => {
  actions = given;
  $("own-file").addEventListener("change", () => {
    const [file] = $("own-file").files;
    if (file) take(file);
    $("own-file").value = "";
  });
  document.addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    take(event.dataTransfer.files[0]);
  });
  rest();
};
