// Files and a host of files for the tests of the reader.

import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

const epdb = process.env.EPDB ?? new URL("../../target/debug/epdb", import.meta.url).pathname;
/** The module and its model, which `.ci/wasm` builds. */
export const built = process.env.EPDB_WASM ?? new URL("../../target/explorer/", import.meta.url).pathname;

/** Runs the program. */
export const run = (...args) => execFileSync(epdb, args, { stdio: ["ignore", "pipe", "inherit"] });

/** Receives a text on a connection of its own, which a busy server does not close meanwhile. */
const get = (address) =>
  new Promise((resolve, reject) => {
    const read = (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (more) => (text += more)).on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode, text }));
    };
    http.get(address, { agent: false }, read).on("error", reject);
  });

/** Starts a server of sources, and resolves to a function that asks it, and one that ends it. */
export const serve = async (...sources) => {
  const server = spawn(epdb, ["serve", "--listen", "127.0.0.1:0", ...sources], { stdio: ["ignore", "pipe", "pipe"] });
  const address = await new Promise((resolve, reject) => {
    let said = "";
    const hear = (text) => {
      said += text;
      const found = said.match(/http:\/\/[\w.:]+\//);
      if (found) resolve(found[0]);
    };
    server.stdout.on("data", hear);
    server.stderr.on("data", hear);
    server.on("exit", () => reject(new Error(said)));
  });
  const api = ["sources", "position", "games", "line", "record", "game", "search"];
  const ask = async (question, query) => {
    const path = api.includes(question) ? `api/${question}` : question;
    const { status, text } = await get(`${address}${path}?${new URLSearchParams(query)}`);
    return { status, body: status === 200 ? JSON.parse(text) : text.trim() };
  };
  return { ask, stop: () => server.kill() };
};

const partOf = (file, start, end) => {
  const bytes = Buffer.alloc(end - start);
  const opened = fs.openSync(file);
  fs.readSync(opened, bytes, 0, end - start, start);
  fs.closeSync(opened);
  return bytes;
};

/**
 * A host of the files in a folder. `change` may change the answer to a request, given as `{status, headers, bytes}`.
 * The host counts requests and bytes.
 */
export const hostOf = (folder, { ranges = true, change = (answer) => answer } = {}) => {
  const host = { requests: 0, bytes: 0 };
  host.fetch = async (address, { headers = {}, method = "GET" } = {}) => {
    const file = path.join(folder, new URL(address).pathname);
    host.requests += 1;
    if (!fs.existsSync(file)) return new Response("no such file", { status: 404 });
    const { size } = fs.statSync(file);
    const asked = ranges && headers.range?.match(/^bytes=(\d+)-(\d+)$/);
    const [start, end] = asked ? [Number(asked[1]), Math.min(Number(asked[2]) + 1, size)] : [0, size];
    const range = { "content-range": `bytes ${start}-${end - 1}/${size}` };
    let answer = {
      status: asked ? 206 : 200,
      headers: { "content-length": String(end - start), etag: '"1"', ...(asked && range) },
      bytes: partOf(file, start, end),
    };
    answer = change(answer, file);
    host.bytes += answer.bytes.length;
    return new Response(method === "HEAD" ? null : answer.bytes, answer);
  };
  return host;
};

/** A generator of numbers below a limit, the same for each seed. */
export const random = (seed) => (limit) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % limit;
};

/** Games of legal moves, in PGN. `reader` has any source. */
export const games = async (reader, count, plies, seed) => {
  const below = random(seed);
  const all = [];
  for (let game = 0; game < count; game++) {
    const moves = [];
    const line = [];
    while (line.length < plies) {
      const { body } = await reader.answer("position", { play: line.join(",") });
      if (body.legal.length === 0) break;
      // The first moves are few, so that games share them.
      const { uci, san } = body.legal[below(Math.min(body.legal.length, line.length < 6 ? 3 : 99))];
      moves.push(line.length % 2 ? san : `${line.length / 2 + 1}. ${san}`);
      line.push(uci);
    }
    const result = ["1-0", "0-1", "1/2-1/2"][below(3)];
    const tags = { White: `A${below(9)}`, Black: `B${below(9)}`, Date: `20${20 + below(5)}.0${1 + below(9)}.01`,
      WhiteElo: 1500 + below(900), BlackElo: 1500 + below(900), TimeControl: ["60+0", "300+3", "900+10"][below(3)], Result: result };
    all.push(Object.entries(tags).map(([name, value]) => `[${name} "${value}"]\n`).join("") + `\n${moves.join(" ")} ${result}\n\n`);
  }
  return all.join("");
};
