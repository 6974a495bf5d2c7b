// A worker around the reader of libraries.

import { load } from "./reader.js";

let reader = null;

/** Answers a call by its name, in the order of the calls. */
const answer = async ({ id, name, args }) => {
  try {
    reader ??= load(new URL("explorer.wasm", location.href));
    const it = await reader;
    const result = await calls[name](it, args, (progress) => postMessage({ id, progress }));
    postMessage({ id, result });
  } catch (error) {
    postMessage({ id, error: error.message });
  }
};

const calls = {
  open: (it, [library]) => it.open(library),
  answer: (it, [path, query, limits]) => it.answer(path, new URLSearchParams(query), limits),
  tally: (it, [bytes, options], onProgress) => it.tally(bytes, { ...options, onProgress }),
  bytes: (it, [name]) => it.bytes(name),
};

/** A program of a page that has it in itself, compressed. */
const unpacked = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));

addEventListener("message", ({ data }) => {
  if (!data.program) return answer(data);
  const { program, tally, ...files } = data;
  reader = load(unpacked(program), { tally: unpacked(tally), ...files });
});
