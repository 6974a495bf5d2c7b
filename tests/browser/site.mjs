// Tasks of people with a site: a folder on a host of files, and one page that is opened as a file:
//
//     node site.mjs FOLDER_URL FOLDER PAGE.html GAMES.pgn [BROWSER]
//
// Both have the libraries of tests/server/page.rs; FOLDER is the folder that is at FOLDER_URL.

import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, readdir, rm, truncate } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { Explorer, launch } from "./browser.mjs";

const [host, folder, page, games, executable = "/usr/bin/chromium"] = process.argv.slice(2);
const places = { folder: host, page: pathToFileURL(page).href };
const line = "e2e4,c7c5,g1f3";

/** Tasks that are the same in a folder and on one page. */
const both = {
  async "find a line, and the games that played it"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    await it.says("rights", "Data: our club · Licence: CC0-1.0");
    await it.drag("e2", "e4");
    await it.lineIs("e4");
    await it.drag("c7", "c5");
    await it.lineIs("e4 c5");
    await it.says("opening", "Sicilian Defense");
    const row = await it.row("g1f3");
    assert.match(row.games, /^2 100\.0%$/);
    assert.equal(row.score, "75.0%");
    await it.page.getByRole("button", { name: /^Open the game Anders against Berta/ }).first().click();
    await it.says("game", "2019.05.11");
    await it.keys("Shift+ArrowRight");
    await it.says("line", "a6");
    await it.enter("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -");
    await it.lineIs("");
  },

  async "filter by date, and change to another library"(open) {
    const it = await open(`#play=${line}`);
    await it.lineIs("e4 c5 Nf3");
    await it.page.locator("#filters summary").click();
    await it.page.getByLabel("since").fill("2020");
    await it.page.getByLabel("since").press("Enter");
    await it.until("one game is left", () => document.querySelector('#moves tr[data-uci="b8c6"]') && !document.querySelector('#moves tr[data-uci="d7d6"] .games')?.textContent.startsWith("1"));
    await it.page.getByRole("radio", { name: "suite" }).check({ force: true });
    await it.says("moves", "not in suite");
    await it.enter("r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq -");
    await it.says("records", "the Spanish");
  },

  async "what is typed wrong is refused with its reason"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    await it.enter("Ke4");
    await it.until("it says why", () => document.querySelector("#entry-error").textContent.length > 10);
  },

  async "find games by a pattern, by keyboard and by hand"(open) {
    await (await open("#source=masters")).findByPattern("Carla");
  },

  async "count games of one's own, and save them as a library"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    const choose = (file) => it.page.locator("#own-file").setInputFiles(file);
    await choose(games);
    assert.match(await it.page.locator("#own").innerText(), /Nothing leaves this machine/);
    await it.page.getByRole("button", { name: "Count", exact: true }).click();
    await it.until("they are chosen", () => location.hash.includes("source=games"));
    await it.says("about", "· 8 games");
    assert.deepEqual(await it.moves(), ["d4", "e4", "c4", "f3"]);
    const saving = it.page.waitForEvent("download");
    await it.page.getByRole("button", { name: "Save games.epa" }).click();
    const saved = await (await saving).path();
    assert.equal((await readFile(saved)).subarray(1, 4).toString(), "EPA");
    // Only those of a player, by keyboard; they replace the others.
    await choose(games);
    await it.page.locator("#own-player").pressSequentially("Emil");
    await it.keys("Tab");
    await it.page.locator("#own-colour").selectOption("white");
    await it.keys("Enter");
    await it.page.locator("#own-player").press("Enter").catch(() => {});
    await it.says("about", "· 2 games");
    // What was saved is opened again.
    const copy = join(await mkdtemp(join(tmpdir(), "epdb-")), "again.epa");
    await copyFile(saved, copy);
    await choose(copy);
    await it.until("it is chosen", () => location.hash.includes("source=again"));
    await it.says("about", "· 8 games");
    await choose({ name: "photo.pgn", mimeType: "", buffer: Buffer.from([1, 2, 3, 250, 251]) });
    await it.page.getByRole("button", { name: "Count", exact: true }).click();
    await it.says("own", "photo.pgn: ");
  },

  async "nothing serious is found by axe"(open) {
    const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1280, 360]) {
        const it = await open(`#play=${line}`, { colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
        await it.lineIs("e4 c5 Nf3");
        assert.ok((await it.excess()) <= 0, `${width} pixels wide`);
        await it.page.locator("#own-file").setInputFiles(games);
        await it.page.evaluate(axe);
        const { violations } = await it.page.evaluate(() => window.axe.run());
        const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
        assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [], `${colorScheme} ${width}`);
        assert.ok((await it.excess()) <= 0, `${width} pixels wide`);
      }
    }
  },
};

/** Tasks of the folder. */
const ofFolder = {
  async "show a position in a frame of another page"(open) {
    const it = await open(`#play=${line}`);
    await it.lineIs("e4 c5 Nf3");
    const code = await it.copied("Copy frame for another page");
    assert.match(code, /^<iframe src="http[^"]*\?embed=1#source=masters&amp;play=e2e4,c7c5,g1f3"/);
    const other = await it.page.context().newPage();
    await other.setContent(code);
    const frame = other.frameLocator("iframe");
    await frame.locator("#moves tbody tr").first().waitFor();
    assert.equal(await frame.locator("#board .piece").count(), 32);
    assert.ok(!(await frame.locator("header").isVisible()));
    await frame.locator("#moves tbody button").first().click();
    await frame.locator("#line .san button").nth(3).waitFor();
  },

  async "a question mark leads to a position too"(open) {
    const it = await open("?embed=1&fen=7k/P7/8/8/8/8/8/7K_w_-_-_0_1");
    await it.until("the position is there", () => document.querySelector('[data-square="a7"]').dataset.piece === "P");
  },

  async "after a count that was stopped, the library is read as before"(open) {
    const it = await open();
    await it.drag("e2", "e4");
    await it.lineIs("e4");
    // Counting waits for its program, which never comes.
    await it.page.context().route(/tally\.wasm/, () => {});
    await it.page.locator("#own-file").setInputFiles(games);
    await it.page.getByRole("button", { name: "Count", exact: true }).click();
    await it.page.getByRole("button", { name: "Stop" }).click();
    await it.says("own", "It was stopped.");
    await it.drag("c7", "c5");
    await it.lineIs("e4 c5");
    await it.says("opening", "Sicilian Defense");
  },

  async "a library that is cut off is said to be"(open) {
    const [library] = await readdir(join(folder, "data/masters"));
    const place = join(folder, "data/masters", library);
    await copyFile(place, `${page}.copy`);
    await truncate(place, 1000);
    try {
      const it = await open(`#play=${line}`);
      await it.says("trouble", "The library cannot be read: ");
      assert.equal(await it.page.locator("#moves tbody tr").count(), 0);
      // The page itself knows the start position.
      const other = await open();
      assert.equal((await other.moves()).length, 4);
      await other.says("games", "The games of this position cannot be listed: ");
      await other.page.locator("#moves tbody button").first().click();
      await other.says("trouble", "The library cannot be read: ");
    } finally {
      await copyFile(`${page}.copy`, place);
      await rm(`${page}.copy`);
    }
  },

  async "a folder that is opened as a file says what to do"(open) {
    const it = await open("", { at: pathToFileURL(join(folder, "index.html")).href, expected: /CORS|ERR_FAILED|origin/ });
    await it.page.getByText("epdb serve FOLDER").waitFor({ timeout: 10_000 });
  },
};

const browser = await launch(executable);
let failed = 0;
const only = process.argv[7];
const run = async (name, base, task) => {
  if (only && !name.includes(only)) return;
  const opened = [];
  const open = async (hash, { at = base, ...options } = {}) => {
    const it = await Explorer.open(browser, at, hash, options);
    opened.push(it);
    return it;
  };
  try {
    await task(open);
    for (const it of opened) await it.close();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED: ${name}\n${error.stack}\n${opened.flatMap(({ complaints }) => complaints).join("\n")}`);
    for (const it of opened) await it.page.context().close();
  }
};
for (const [place, base] of Object.entries(places)) {
  for (const [name, task] of Object.entries(both)) await run(`${place}: ${name}`, base, task);
}
for (const [name, task] of Object.entries(ofFolder)) await run(name, host, task);
await browser.close();
process.exit(failed ? 1 : 0);
