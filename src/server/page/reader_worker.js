// A worker around the reader of libraries.

import { load } from "./reader.js";

let reader = null;

/** Answers a call by its name, in the order of the calls. */
const answer = async ({ id, name, args }) => {
  try {
    reader ??= load(new URL("explorer.wasm.gz", location.href));
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
  // Read here, because the bytes would be copied on their way.
  tally: async (it, [file, options], onProgress) => it.tally(new Uint8Array(await file.arrayBuffer()), { ...options, onProgress }),
  bytes: (it, [name]) => it.bytes(name),
};

addEventListener("message", ({ data }) => {
  if (!data.program) return answer(data);
  const { program, ...files } = data;
  reader = load(program, files);
});
