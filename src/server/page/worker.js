// The worker that reads libraries in the browser. It is started when it is first needed.

import { $ } from "./dom.js";

/** A library cannot be read: `message` says why. */
export class Unreadable extends Error {}

let worker = null;
/** What waits for an answer, by number. */
const waiting = new Map();
let asked = 0;
let onEnd = () => {};

/** Calls a function whenever the reader ends: no library is open then. */
export const whenReaderEnds = (end) => {
  onEnd = end;
};

/** The bytes of an element that has them in base64. */
const bytesOf = (id) => Uint8Array.from(atob($(id).textContent), (letter) => letter.charCodeAt(0));

/** A page of its own has the script and the program in itself; else they are files beside this script. */
const start = () => {
  const script = $("worker");
  if (script) {
    const place = URL.createObjectURL(new Blob([script.textContent], { type: "text/javascript" }));
    const started = new Worker(place);
    started.postMessage({ program: bytesOf("wasm"), tally: bytesOf("tally"), model: bytesOf("model"), openings: bytesOf("openings") });
    return started;
  }
  return new Worker(new URL("reader_worker.js", document.querySelector("script[type=module]").src), { type: "module" });
};

const fail = (words) => {
  for (const { reject } of waiting.values()) reject(new Unreadable(words));
  waiting.clear();
  worker?.terminate();
  worker = null;
  onEnd();
};

const listen = ({ data: { id, result, error, progress } }) => {
  const call = waiting.get(id);
  if (!call) return;
  if (progress !== undefined) return call.onProgress?.(progress);
  waiting.delete(id);
  if (error === undefined) call.resolve(result);
  else call.reject(new Unreadable(error));
};

/** Calls a function of the reader; `onProgress` gets the share that is done. */
const call = (name, args, onProgress = null) => new Promise((resolve, reject) => {
  if (!worker) {
    worker = start();
    worker.onmessage = listen;
    worker.onerror = () => fail("This browser cannot run the reader of libraries.");
  }
  asked += 1;
  waiting.set(asked, { resolve, reject, onProgress });
  worker.postMessage({ id: asked, name, args });
});

/** Opens a library: `{ name, url, whole }`, or `{ name, bytes }`, where bytes may be an element that has them. */
export const openLibrary = ({ name, url, bytes, whole }) => {
  if (bytes === undefined) return call("open", [{ name, url: new URL(url, location.href).href, whole }]);
  return call("open", [{ name, bytes: typeof bytes === "string" ? bytesOf(bytes) : bytes, whole: true }]);
};

/** What `api/` answers for a path, about the libraries that were opened. */
export const answerHere = (path, query, limits) => call("answer", [path, String(query), limits]);

/** Counts the games of a file into a library called `name`. */
export const countGames = (file, { name, player, color, onProgress }) => call("tally", [file, { name, player, color }], onProgress);

/** The bytes of a library. */
export const bytesOfLibrary = (name) => call("bytes", [name]);

/** Ends what is being done. */
export const stopReader = () => fail("It was stopped.");
