// The reader of a page without a server answers as the server does, and survives damage.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";

import { Failed, load } from "../../src/explorer/reader.js";
import { built, games, hostOf, random, run, serve } from "./files.mjs";

const wasm = fs.readFileSync(path.join(built, "explorer.wasm.gz"));
const model = fs.readFileSync(path.join(built, "shipped.model"));
const tally = fs.readFileSync(path.join(built, "tally.wasm.gz"));
const openings = fs.readFileSync(path.join(built, "openings.table"));
const open = (host) => load(wasm, { model, tally, openings, fetch: host?.fetch });

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "epdb-reader-"));
const file = (name) => path.join(folder, name);
const url = (name) => `http://host.test/${name}`;
process.on("exit", () => fs.rmSync(folder, { recursive: true }));

const one = new TextEncoder().encode('[Event "?"]\n\n1. e4 e5 1-0\n');
const maker = await open();
await maker.tally(one, { name: "one" });
const pgn = await games(maker, 150, 24, 7);
fs.writeFileSync(file("games.pgn"), pgn);
const options = ["--by", "year,month,speed,rating", "--keep-games", "15"];
run("tally", file("games.pgn"), ...options, "-o", file("lib.epa"));
run("tally", file("games.pgn"), "-o", file("plain.epa"));
run("pack", file("lib.epa"), "--level", "fast", "-o", file("fast.epa"));
run("shard", "merge", file("lib.epa"), "--shards", "8", "-o", file("parts"));
fs.writeFileSync(file("later.pgn"), await games(maker, 40, 24, 8));
run("import", file("day.epdb"), file("later.pgn"), "--tally", "--base", file("lib.epa"));
const about = ["--about", "source=a test", "--about", "licence=CC0-1.0"];
run("site", `grown=${file("lib.epa")}+${file("day.epdb")}`, "-o", file("site"), ...about);
/** Sources that are manifests: shards, and shards with a young layer. */
const manifests = { parts: "parts/manifest.json", grown: "site/data/grown/manifest.json" };

/** What may differ between a server and the reader. */
const comparable = ({ status, body }) => {
  if (Array.isArray(body)) body.forEach((source) => delete source.opened);
  else delete body.changes;
  return { status, body };
};

/** Questions along random lines through the library. */
const questions = (count, seed) => {
  const below = random(seed);
  const lines = pgn.split("\n").filter((line) => line.startsWith("1. "));
  const texts = Array.from({ length: count }, () => {
    const moves = lines[below(lines.length)].split(" ").filter((word) => /^[a-hKQRBNO]/.test(word));
    return moves.slice(0, below(18)).join(" ");
  });
  return texts;
};

const filters = [{}, { since: "2022", speeds: "blitz" }, { ratings: "1600,1800", until: "2023-04" }];

test("answers equal those of a server", async () => {
  const sources = ["lib.epa", "plain.epa", "fast.epa"];
  const listed = Object.entries(manifests);
  const server = await serve(...sources.map(file), ...listed.map(([name, place]) => `${name}=${file(place)}`));
  try {
    const readers = await Promise.all([
      ...[{}, { whole: true }].map(async (how) => {
        const reader = await open(hostOf(folder));
        for (const name of sources) await reader.open({ name: name.split(".")[0], url: url(name), ...how });
        for (const [name, place] of listed) await reader.open({ name, url: url(place) });
        return reader;
      }),
      (async () => {
        const reader = await open(hostOf(folder, { ranges: false }));
        for (const name of sources) await reader.open({ name: name.split(".")[0], bytes: fs.readFileSync(file(name)) });
        for (const [name, place] of listed) await reader.open({ name, url: url(place) });
        return reader;
      })(),
    ]);
    const below = random(3);
    const ask = async (question, query) => {
      const expected = comparable(await server.ask(question, query));
      for (const reader of readers) assert.deepEqual(comparable(await reader.answer(question, query)), expected);
      return expected.body;
    };
    await ask("sources", {});
    for (const text of questions(60, 5)) {
      const { start, play } = await ask("line", { text: text || "e4" });
      for (const source of ["lib", "plain", "fast", ...Object.keys(manifests)]) {
        const query = { source, fen: start, play: play.join(","), ...filters[below(3)] };
        await ask("position", { ...query, parents: below(2) ? "1" : "" });
        const games = await ask("games", query);
        await ask(["lichess", "masters"][below(2)], query);
        if (games.top?.[0]) await ask("game", { source, id: games.top[0].id });
      }
    }
    for (const [question, query] of [
      ["position", { source: "none" }], ["position", { play: "e2e5" }], ["line", { text: "" }], ["game", { id: "?" }],
      ["record", { number: "0" }], ["record", { number: "99999999" }], ["position", { speeds: "fast" }],
      ["search", { source: "lib", where: "on('p','e5')" }], ["search", { source: "grown", where: "on('P','a3')" }],
      ["lichess", { fen: "x" }], ["masters", { variant: "horde" }], ["player", { player: "A1", color: "white" }],
    ]) await ask(question, query);
  } finally {
    server.stop();
  }
});

test("a site has the answer of the start position in its page", async () => {
  const [, text] = fs.readFileSync(file("site/index.html"), "utf8").match(/id="site">(.*?)<\/script>/);
  const [{ name, start }] = JSON.parse(text).sources;
  const reader = await open(hostOf(folder));
  await reader.open({ name, url: url(manifests.grown) });
  const answer = comparable(await reader.answer("position", { source: name, parents: "1" }));
  // The counts are not repeated as the text of a record.
  assert.equal(answer.body.records.length, answer.body.recordCount);
  answer.body.records = [];
  assert.deepEqual(comparable({ status: 200, body: start }), answer);
  assert.equal(start.found, true);
});

/** The answers of a sound reader of a source, by question. */
const soundAnswers = async (name, kind) => {
  const reader = await open(hostOf(folder));
  await reader.open({ name: "lib", ...kind(name) });
  const asked = [["position", {}], ["lichess", { play: "a2a3" }], ...questions(4, 9).map((text) => ["line", { text: text || "a3" }])];
  const all = [];
  for (const [question, query] of asked) {
    const { body } = await reader.answer(question, query);
    const next = question === "line" ? ["position", { fen: body.start, play: body.play.join(",") }] : [question, query];
    all.push([next, comparable(await reader.answer(...next))]);
  }
  return all;
};

test("damage is a message or leaves the answer as it is", async () => {
  const below = random(11);
  const byUrl = (name) => ({ url: url(name) });
  const byBytes = (name) => ({ bytes: fs.readFileSync(file(name)) });
  for (const [name, damaged, kind, tries] of [
    ["lib.epa", "lib.epa", byUrl, 60], ["lib.epa", "lib.epa", byBytes, 60], ["fast.epa", "fast.epa", byBytes, 40],
    ["parts/manifest.json", ".epa", byUrl, 60], ["parts/manifest.json", "manifest.json", byUrl, 30],
  ]) {
    const sound = await soundAnswers(name, kind);
    let refused = 0;
    for (let number = 0; number < tries; number++) {
      const seed = below(1 << 20);
      const cut = number % 3 === 0;
      const spoil = (bytes) => {
        const copy = Buffer.from(bytes);
        const place = random(seed)(copy.length);
        if (cut) return copy.subarray(0, place);
        copy[place] ^= 1 << seed % 8;
        return copy;
      };
      const change = (answer, file) => (file.endsWith(damaged) ? { ...answer, bytes: spoil(answer.bytes) } : answer);
      const reader = await open(hostOf(folder, { change }));
      try {
        const how = kind(name);
        await reader.open({ name: "lib", ...(how.bytes ? { bytes: spoil(how.bytes) } : how) });
      } catch (error) {
        assert(error instanceof Failed && error.message.length > 10, String(error));
        assert(!error.message.includes("the reader failed"), error.message);
        refused += 1;
        continue;
      }
      for (const [[question, query], expected] of sound) {
        const answer = comparable(await reader.answer(question, query));
        if (answer.status === 200) assert.deepEqual(answer, expected, `${name} ${number}`);
        else assert(answer.body.length > 10 && !answer.body.includes("the reader failed"), answer.body);
      }
    }
    assert(refused > 0 || damaged === ".epa", name);
  }
});

test("nothing is received for an answer that needs more bytes than it may", async () => {
  const host = hostOf(folder);
  const reader = await open(host);
  await reader.open({ name: "lib", url: url(manifests.grown) });
  const query = { source: "lib", where: "on('P','e4')" };
  const refused = await reader.answer("search", query, { maxBytes: 1000 });
  assert(refused.bytes > 1000 && refused.body.includes("MB"), JSON.stringify(refused));
  const { bytes } = host;
  assert.deepEqual(await reader.answer("search", query, { maxBytes: 1000 }), refused);
  assert.equal(host.bytes, bytes);
  assert.equal((await reader.answer("search", query, { maxBytes: 1e6 })).status, 200);
  // What is there needs no question.
  assert.equal((await reader.answer("search", query, { maxBytes: 0 })).status, 200);
});

test("an answer asks for nothing twice, also if a library has more parts than stay open", async () => {
  run("shard", "merge", file("lib.epa"), "--shards", "400", "-o", file("many"));
  assert(fs.readdirSync(file("many")).length > 200);
  const host = hostOf(folder);
  const asked = new Set();
  const fetch = (url, options) => {
    const range = `${url} ${options?.headers?.range}`;
    assert(!asked.has(range), range);
    asked.add(range);
    return host.fetch(url, options);
  };
  const reader = await open({ fetch });
  await reader.open({ name: "many", url: url("many/manifest.json") });
  for (const text of questions(150, 6)) {
    const { body } = await reader.answer("line", { text: text || "a3" });
    const query = { source: "many", fen: body.start, play: body.play.join(","), parents: "1" };
    asked.clear();
    assert.equal((await reader.answer("position", query)).status, 200);
  }
});

test("a host that cannot be read from says why", async () => {
  const web = "<!doctype html><title>none</title>";
  fs.writeFileSync(file("page.html"), web);
  fs.writeFileSync(file("large.epa"), Buffer.concat([fs.readFileSync(file("lib.epa")), Buffer.alloc(5 << 20)]));
  fs.writeFileSync(file("lib.epa.gz"), Buffer.from([0x1f, 0x8b, 8, 0, 0]));
  fs.copyFileSync(file("lib.epa"), file("part.json"));
  const unreachable = { fetch: () => Promise.reject(new TypeError("fetch failed")) };
  for (const [name, host, expected] of [
    ["page.html", hostOf(folder), /but a web page/],
    ["none.epa", hostOf(folder), /none.epa: there is no such file/],
    ["lib.epa.gz", hostOf(folder), /compressed: the host has to send/],
    ["large.epa", hostOf(folder, { ranges: false }), /does not send ranges.*a library in parts/],
    ["part.json", hostOf(folder), /an archive in place of a manifest/],
    ["lib.epa", unreachable, /not received \(fetch failed\)/],
  ]) {
    const reader = await open(host);
    await assert.rejects(reader.open({ name: "lib", url: url(name) }), (error) => error instanceof Failed && expected.test(error.message));
    assert.deepEqual((await reader.answer("sources")).body, []);
  }
});

test("a library that is replaced is read anew, and never mixed", async () => {
  const now = path.join(folder, "now");
  const put = (name) => fs.rmSync(now, { recursive: true, force: true }) ?? fs.cpSync(file(name), now, { recursive: true });
  fs.writeFileSync(file("half.pgn"), pgn.slice(0, pgn.indexOf("[White", pgn.length / 2)));
  run("tally", file("half.pgn"), "-o", file("half.epa"));
  run("shard", "merge", file("half.epa"), "--shards", "5", "-o", file("half"));
  put("parts");
  const reader = await open(hostOf(folder));
  await reader.open({ name: "lib", url: url("now/manifest.json") });
  const start = (await reader.answer("lichess")).body.reached;
  put("half");
  const deep = await reader.answer("lichess", { play: "a2a3" });
  assert.equal(deep.status, 200);
  assert((await reader.answer("lichess")).body.reached < start);
});

test("a dropped file is counted, saved and opened again", async () => {
  const reader = await open();
  const parts = [];
  const counts = await reader.tally(Buffer.from(pgn), { name: "mine", onProgress: (part) => parts.push(part) });
  assert.equal(counts.games, 150);
  assert(parts.length > 1 && parts.every((part, place) => part >= (parts[place - 1] ?? 0)) && parts.at(-1) <= 1);
  fs.writeFileSync(file("mine.epa"), reader.bytes("mine"));
  assert.equal(String(run("diff", file("mine.epa"), file("lib.epa"))), "");
  await reader.open({ name: "saved", bytes: reader.bytes("mine") });
  const of = async (source) => comparable(await reader.answer("position", { source, play: "a2a3", parents: "1" })).body;
  assert.deepEqual({ ...(await of("saved")), source: "" }, { ...(await of("mine")), source: "" });
  const { games } = await reader.tally(Buffer.from(pgn), { name: "mine", player: "A1", color: "white" });
  assert(games > 0 && games < 150);
  await assert.rejects(reader.tally(Buffer.from("no games"), { name: "none" }), /no games/);
  reader.close("mine");
  assert.equal((await reader.answer("sources")).body.length, 1);
});
