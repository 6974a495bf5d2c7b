// Tasks of people with the explorer, in a browser:
//
//     node tasks.mjs BASE_URL [BROWSER]
//
// BASE_URL is the address of a server with the libraries of tests/server/page.rs.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { Explorer, launch } from "./browser.mjs";

const [base, executable = "/usr/bin/chromium"] = process.argv.slice(2);
const promoting = "7k/P7/8/8/8/8/8/7K w - - 0 1";
const fischer = "1r3kr1/pppppppp/8/8/8/8/PPPPPPPP/1R3KR1 w GBgb - 0 1";
const najdorf = "e2e4,c7c5,g1f3,d7d6,d2d4,c5d4,f3d4,g8f6,b1c3,a7a6";
const inAddress = (fen) => fen.replaceAll(" ", "_");

const tasks = {
  async "find a line by dragging"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    await it.drag("e2", "e4");
    await it.lineIs("e4");
    await it.drag("c7", "c5");
    await it.lineIs("e4 c5");
    assert.equal(await it.piece("c5"), "p");
    assert.equal(await it.piece("c7"), "");
    await it.says("opening", "Sicilian Defense");
    assert.equal(await it.address(), "#play=e2e4,c7c5");
    const row = await it.row("g1f3");
    assert.match(row.games, /^2 100\.0%$/);
    assert.match(row.results, /White won 1 draws 1 Black won 0/);
    assert.equal(row.score, "75.0%");
    // What is not legal goes back.
    await it.drag("g1", "g3");
    await it.lineIs("e4 c5");
    assert.equal(await it.piece("g1"), "N");
  },

  async "find a line by clicking, and castle both ways"(open) {
    const line = "e2e4,e7e5,g1f3,b8c6,f1c4,f8c5";
    for (const target of ["g1", "h1"]) {
      const it = await open(`#play=${line}`);
      await it.lineIs("e4 e5 Nf3 Nc6 Bc4 Bc5");
      await it.square("e1").click();
      assert.equal(await it.square("e1").getAttribute("aria-selected"), "true");
      assert.match(await it.square(target).getAttribute("aria-label"), /can be moved to/);
      await it.square(target).click();
      await it.lineIs("e4 e5 Nf3 Nc6 Bc4 Bc5 O-O");
      assert.deepEqual([await it.piece("g1"), await it.piece("f1"), await it.piece("h1")], ["K", "R", ""]);
      await it.close();
    }
  },

  async "find a line by keyboard alone"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    while (!(await it.page.evaluate(() => document.activeElement.dataset.square))) await it.keys("Tab");
    await it.keyAt("d2", "Enter");
    assert.match(await it.said(), /white pawn on d2 picked up, 2 squares/);
    await it.keys("Escape");
    assert.equal(await it.said(), "put back");
    await it.keyAt("d2", " ");
    await it.keyAt("d4", " ");
    await it.lineIs("d4");
    assert.match(await it.said(), /^1\. d4\. .*Black has 1 move, 3 games/);
    await it.keyAt("g8", "Enter");
    await it.keyAt("f6", "Enter");
    await it.lineIs("d4 Nf6");
    assert.match(await it.said(), /^1\. knight f6\./);
    // The board keeps the focus; the table is reached by Tab, and its rows by the arrow keys.
    while (!(await it.page.evaluate(() => document.activeElement.closest("#moves tbody")))) await it.keys("Tab");
    assert.equal(await it.page.locator("#arrows").getAttribute("data-move"), "c2c4");
    await it.keys("Enter");
    await it.lineIs("d4 Nf6 c4");
    await it.keys("ArrowLeft");
    await it.lineIs("d4 Nf6");
    await it.keys("Shift+ArrowLeft");
    await it.lineIs("");
    await it.keys("ArrowRight");
    await it.lineIs("d4");
    await it.keys("f");
    await it.until("the board is flipped", () => document.querySelector("#board [role=gridcell]").dataset.square === "h1");
    await it.keys("/");
    await it.page.keyboard.type("Nf6");
    await it.keys("Enter");
    await it.lineIs("d4 Nf6");
    await it.keys("Escape", "Shift+ArrowLeft");
    await it.lineIs("");
    await it.page.locator("#skip").focus();
    await it.keys("Enter", "ArrowDown");
    assert.equal(await it.page.locator("#arrows").getAttribute("data-move"), "e2e4");
    await it.keys("?");
    assert.ok(await it.page.locator("#help").isVisible());
    await it.keys("Escape");
    assert.ok(!(await it.page.locator("#help").isVisible()));
  },

  async "the board is a grid for those who listen"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    const grid = it.page.getByRole("grid", { name: "Chessboard" });
    assert.equal(await grid.getByRole("row").count(), 8);
    assert.equal(await grid.getByRole("gridcell").count(), 64);
    assert.equal(await grid.getByRole("gridcell", { name: "e2, white pawn" }).count(), 1);
    assert.equal(await grid.getByRole("gridcell", { name: "e4, empty" }).count(), 1);
    assert.equal(await it.page.locator("#board [tabindex='0']").count(), 1);
  },

  async "go to a position by pasting"(open) {
    const it = await open("", { expected: /status of 4(00|14|31)/ });
    await it.says("opening", "Start position");
    await it.enter("e4");
    await it.lineIs("e4");
    await it.enter("c7c5 Nf3");
    await it.lineIs("e4 c5 Nf3");
    await it.enter("Ke4");
    await it.until("the box says what is wrong", () => document.querySelector("#entry-error").textContent.length > 10);
    assert.equal(await it.page.locator("#box").getAttribute("aria-invalid"), "true");
    await it.lineIs("e4 c5 Nf3");
    await it.keys("Enter");
    await it.until("what was wrong stands", () => document.querySelector("#entry-error").textContent);
    await it.page.locator("#back").click();
    await it.until("it is no longer said", () => document.querySelector("#entry-error").textContent === "");
    for (const [text, words] of [
      ["'rnbqkbnr/pppppppp/8/8/8/9/PPPPPPPP/RNBQKBNR w KQkq -'", "`9` is neither a piece letter"],
      ['"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP w KQkq -"', "has 7 ranks"],
      ["e4 ".repeat(12_000), "the text is too long"],
    ]) {
      await it.enter(text);
      await it.says("entry-error", words);
    }
    await it.enter("");
    assert.equal(await it.page.locator("#entry-error").textContent(), "");
    await it.enter(`"${promoting}"`);
    await it.until("the position is there", () => document.querySelector('[data-square="a7"]').dataset.piece === "P");
    assert.equal(await it.page.locator("#entry-error").textContent(), "");
    assert.equal(await it.address(), `#fen=${inAddress(promoting)}`);
    await it.page.locator("#box").focus();
    await it.page.evaluate(() => navigator.clipboard.writeText('[White "A"]\n[Black "B"]\n\n1. e4 {so} e5 (1... c5)\n2. Nf3 *\n'));
    await it.keys("ControlOrMeta+v", "Enter");
    await it.lineIs("e4 e5 Nf3");
    assert.equal(await it.address(), "#play=e2e4,e7e5,g1f3");
  },

  async "see from where a position is reached, and go there"(open) {
    const it = await open("#play=d2d4,g8f6,c2c4");
    await it.lineIs("d4 Nf6 c4");
    const parents = await it.page.locator("#parents li").allInnerTexts();
    assert.equal(parents.length, 2);
    assert.match(parents[0].replace(/\s+/g, " "), /2\. c4 3 times .*the line on the board/);
    assert.match(parents[1].replace(/\s+/g, " "), /2\. d4 1 time/);
    await it.page.locator("#parents li button").nth(1).click();
    await it.until("the position before is there", () => document.querySelector('[data-square="c4"]').dataset.piece === "P"
      && document.querySelector('[data-square="d2"]').dataset.piece === "P");
    assert.equal(await it.row("d2d4").then((row) => row.games), "1 100.0%");
    assert.match((await it.row("d2d4")).reached, /^4/);
    assert.equal(await it.focused(), "#parents");
  },

  async "switch the library"(open) {
    const it = await open(`#play=e2e4&speeds=blitz`);
    await it.lineIs("e4");
    await it.says("filters", "masters does not tell games apart by speed");
    await it.page.getByRole("radio", { name: "mine" }).check({ force: true });
    await it.until("the address names it", () => location.hash === "#source=mine&play=e2e4&speeds=blitz");
    await it.lineIs("e4");
    await it.says("about", "2 games");
    assert.equal((await it.row("c7c5")).games, "1 100.0%");
    await it.page.locator("#filters summary").click();
    assert.match(await it.page.locator("#filters").innerText(), /ultra-bullet/);
    await it.page.getByRole("checkbox", { name: "rapid" }).check({ force: true });
    await it.until("both speeds count", () => location.hash.endsWith("speeds=blitz,rapid") && document.querySelectorAll("#moves tbody tr").length === 2);
    await it.page.getByRole("button", { name: "Take all games" }).click();
    await it.until("no filter is left", () => location.hash === "#source=mine&play=e2e4");
    await it.page.getByRole("radio", { name: "suite" }).check({ force: true });
    await it.says("moves", "This position is not in suite.");
    await it.lineIs("e4");
    await it.says("moves", "Look in ");
    assert.deepEqual(await it.page.locator(".others button").allTextContents(), ["masters", "mine", "book"]);
    await it.page.getByRole("button", { name: "masters" }).click();
    await it.until("it is there", () => location.hash === "#source=masters&play=e2e4" && document.querySelector("#moves tbody"));
  },

  async "count games of some dates only"(open) {
    const it = await open("#play=e2e4&since=2021");
    await it.lineIs("e4");
    assert.deepEqual(await it.moves(), ["e5"]);
    await it.page.locator("#filters summary").click();
    await it.page.getByLabel("until").fill("2020");
    await it.page.getByLabel("since").fill("2020-03");
    await it.keys("Tab", "Tab");
    await it.says("moves", "No game matches the filters.");
    assert.equal(await it.page.locator("#moves table").count(), 0);
    await it.page.locator("#moves").getByRole("button", { name: "Take all games" }).click();
    await it.until("all are there", () => document.querySelectorAll("#moves tbody tr").length === 2);
    assert.equal(await it.focused(), "#moves");
  },

  async "hear of what a library was replaced by"(open) {
    const it = await open();
    await it.says("about", "30 records");
    await it.page.route("**/api/sources?*", async (route) => {
      const sources = await (await route.fetch()).json();
      await route.fulfill({ json: sources.map((source) => ({ ...source, records: 31 })) });
    });
    await it.enter("e4");
    await it.lineIs("e4");
    await it.says("about", "30 records");
    await it.page.route("**/api/position?*", async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, changes: answer.changes + 1 } });
    });
    await it.enter("c5");
    await it.lineIs("e4 c5");
    await it.says("about", "31 records");
  },

  async "paste anywhere on the page"(open) {
    const it = await open("", { expected: /status of 400/ });
    await it.says("opening", "Start position");
    const paste = async (text) => {
      await it.page.evaluate((words) => navigator.clipboard.writeText(words), text);
      await it.keys("ControlOrMeta+v");
    };
    await paste("1. e4 c5 2. Nf3 *");
    await it.lineIs("e4 c5 Nf3");
    await paste(promoting);
    await it.until("the position is there", () => document.querySelector('[data-square="a7"]').dataset.piece === "P");
    assert.equal(await it.page.inputValue("#box"), "");
    await paste("no chess");
    await it.until("it is said what is wrong", () => document.querySelector("#entry-error").textContent.length > 5);
    assert.equal(await it.page.inputValue("#box"), "no chess");
  },

  async "go through the line after the mouse"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    await it.drag("e2", "e4");
    await it.lineIs("e4");
    await it.drag("c7", "c5");
    await it.lineIs("e4 c5");
    await it.keys("ArrowLeft");
    await it.lineIs("e4");
    await it.square("e7").click();
    await it.square("e5").click();
    await it.lineIs("e4 e5");
    await it.keys("ArrowLeft", "ArrowLeft");
    await it.lineIs("");
    // What is picked up goes by the arrow keys.
    await it.square("d2").click();
    await it.keys("ArrowUp", "ArrowUp", "Enter");
    await it.lineIs("d4");
  },

  async "turn the wheel over the board"(open) {
    const it = await open("#play=e2e4,c7c5");
    await it.lineIs("e4 c5");
    await it.page.mouse.move(...(await it.middle("d5")));
    await it.page.mouse.wheel(0, -100);
    await it.lineIs("e4");
    await it.page.mouse.wheel(0, -100);
    await it.lineIs("");
    await it.page.mouse.wheel(0, 40);
    await it.page.mouse.wheel(0, 40);
    await it.lineIs("e4");
  },

  async "keep a line that is left"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    await it.enter("e4 e5 Nf3");
    await it.lineIs("e4 e5 Nf3");
    await it.keys("Escape", "ArrowLeft");
    await it.lineIs("e4 e5");
    await it.keys("ArrowLeft");
    await it.lineIs("e4");
    await it.drag("c7", "c5");
    await it.lineIs("e4 c5");
    const others = () => it.page.locator(".branches button").allTextContents();
    assert.deepEqual(await others(), ["1… e5 2. Nf3"]);
    await it.keys("ArrowLeft");
    await it.lineIs("e4");
    await it.keys("ArrowRight");
    await it.lineIs("e4 c5");
    await it.page.getByRole("button", { name: "Line 1… e5 2. Nf3" }).click();
    await it.lineIs("e4 e5");
    assert.deepEqual(await others(), ["1… c5"]);
    await it.keys("ArrowRight");
    await it.lineIs("e4 e5 Nf3");
    // The first move of a line that was left brings all of it back.
    await it.page.locator("#first").click();
    await it.lineIs("");
    await it.keys("ArrowRight");
    await it.lineIs("e4");
    await it.drag("c7", "c5");
    await it.lineIs("e4 c5");
    await it.keys("ArrowLeft");
    await it.lineIs("e4");
    await it.drag("e7", "e5");
    await it.lineIs("e4 e5");
    await it.keys("ArrowRight");
    await it.lineIs("e4 e5 Nf3");
  },

  async "go back and forward in the browser"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    await it.enter("e4");
    await it.lineIs("e4");
    await it.page.locator('#moves tr[data-uci="c7c5"]').click();
    await it.lineIs("e4 c5");
    await it.page.goBack();
    await it.lineIs("e4");
    assert.equal(await it.piece("c7"), "p");
    await it.page.goBack();
    await it.lineIs("");
    await it.page.goForward();
    await it.page.goForward();
    await it.lineIs("e4 c5");
    assert.equal(await it.piece("c5"), "p");
  },

  async "open a link"(open) {
    const it = await open(`#source=masters&play=${najdorf}&ply=4&since=2019&flip=1`);
    await it.lineIs("e4 c5 Nf3 d6");
    assert.equal(await it.page.locator("#line .san button").count(), 10);
    assert.equal(await it.square("h1").evaluate((cell) => cell.parentElement.firstElementChild === cell), true);
    await it.says("filters", "since 2019");
    await it.keys("Shift+ArrowRight");
    await it.lineIs("e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6");
    await it.says("opening", "Najdorf");
    await it.page.locator("#line .names button", { hasText: "Sicilian Defense" }).first().click();
    await it.lineIs("e4 c5");
    // A link with no sense says so, and leads out.
    const other = await open("#source=nowhere&play=e2e5", { expected: /status of 40[04]/ });
    await other.until("the server refused", () => document.querySelector("#trouble").textContent.includes("nowhere"));
    await other.page.getByRole("button", { name: "Go to the start" }).click();
    await other.says("opening", "Start position");
    await other.close();
    const lost = await open("#fen=xxx", { expected: /status of 400/ });
    await lost.says("trouble", "invalid fen");
    assert.equal(await lost.page.locator("main :not(#own) > button:enabled").count(), 1);
    assert.ok(!(await lost.page.locator("#eco").isVisible()));
    await lost.keys("f", "ArrowLeft");
    await lost.enter("e4");
    await lost.lineIs("e4");
    assert.equal(await lost.page.locator("main button:disabled").count(), 0);
    assert.equal(await lost.page.locator("#trouble").textContent(), "");
    assert.equal(await lost.address(), "#play=e2e4");
    // No position that was there before stands under it.
    await lost.page.evaluate(() => { location.hash = "#play=e2e5"; });
    await lost.says("trouble", "This link cannot be shown");
    assert.equal(await lost.page.locator("#board .piece").count(), 0);
    assert.equal(await lost.page.locator("#moves").textContent(), "");
    await lost.page.goBack();
    await lost.lineIs("e4");
    await lost.close();
    // Other explorers put it behind a question mark.
    const asked = await open(`?fen=${inAddress(promoting)}&source=suite`);
    await asked.until("the position is there", () => document.querySelector('[data-square="a7"]').dataset.piece === "P");
    assert.equal(asked.page.url(), `${base}/#source=suite&fen=${inAddress(promoting)}`);
    await asked.close();
  },

  async "see that a position is unknown"(open) {
    const it = await open("#play=e2e4,c7c5,a2a3,h7h5,h2h4");
    await it.lineIs("e4 c5 a3 h5 h4");
    await it.says("moves", "This position is not in masters.");
    assert.match(await it.said(), /Not in this library/);
    assert.equal(await it.page.locator("#moves table").count(), 0);
    await it.page.getByRole("button", { name: "after 1… c5" }).click();
    await it.lineIs("e4 c5");
    assert.equal((await it.moves())[0], "Nf3");
    assert.equal(await it.page.locator("#line .san .ahead").count(), 3);
    const lost = await open(`#fen=${inAddress("8/8/8/8/8/4k3/8/4K2R w K - 0 1")}`);
    await lost.says("moves", "Nor is any earlier position of the line");
    await lost.close();
  },

  async "play on in a Chess960 position"(open) {
    const it = await open(`#source=fischer&fen=${inAddress(fischer)}`);
    await it.says("opening", "Chess960 position");
    assert.deepEqual(await it.moves(), ["O-O"]);
    await it.square("f1").click();
    await it.square("g1").click();
    await it.lineIs("O-O");
    assert.deepEqual([await it.piece("g1"), await it.piece("f1")], ["K", "R"]);
    assert.match(await it.address(), /play=f1g1$/);
    await it.drag("f8", "b8");
    await it.lineIs("O-O O-O-O");
    assert.deepEqual([await it.piece("c8"), await it.piece("d8")], ["k", "r"]);
  },

  async "use a narrow screen"(open) {
    const it = await open(`#play=${najdorf}`, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    await it.lineIs("e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6");
    assert.equal(await it.excess(), 0);
    const board = await it.page.locator("#board").boundingBox();
    assert.ok(board.width > 320 && Math.abs(board.width - board.height) < 1);
    await it.square("c1").tap();
    await it.square("g5").tap();
    await it.lineIs("e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6 Bg5");
    await it.page.locator("#back").tap();
    await it.lineIs("e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6");
    await it.page.locator("#first").tap();
    await it.lineIs("");
    assert.equal(await it.excess(), 0);
    // Some columns are all there, and all others one step away.
    const heads = () => it.page.locator("#moves thead th:visible").evaluateAll((all) => all.map((head) => head.className));
    assert.deepEqual(await heads(), ["san", "games", "results", "score"]);
    for (const scroller of await it.page.locator(".scroller").all()) assert.equal(await cut(scroller), 0);
    await it.page.getByRole("button", { name: "All columns" }).tap();
    assert.ok((await heads()).includes("years"));
    assert.equal(await it.focused(), "#moves");
    assert.equal(await it.excess(), 0);
    // The first moves are on the first screen.
    const first = await open("#play=e2e4,c7c5", { viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true });
    await first.lineIs("e4 c5");
    const row = await first.page.locator("#moves tbody tr").first().boundingBox();
    assert.ok(row.y + row.height < 780, `${row.y}`);
    await first.close();
    // A game that is opened from below is seen.
    await it.page.getByRole("button", { name: /^Open the game Anders/ }).first().tap();
    await it.until("its moves are there", () => document.querySelectorAll("#line .san button").length === 10);
    await it.until("the board is seen", () => document.querySelector("#board").getBoundingClientRect().top >= 0);
  },

  async "see all of the lists on wide screens"(open) {
    for (const width of [768, 1280, 2560]) {
      const it = await open("#play=e2e4,c7c5", { viewport: { width, height: 900 } });
      await it.lineIs("e4 c5");
      for (const scroller of await it.page.locator(".scroller").all()) assert.equal(await cut(scroller), 0);
      const sizes = await it.page.locator("#moves thead th").evaluateAll((all) => all.map((head) => getComputedStyle(head).fontSize));
      assert.equal(new Set(sizes).size, 1, sizes.join());
      assert.equal(await it.page.getByRole("button", { name: "All columns" }).isVisible(), false);
      await it.close();
    }
  },

  async "read names on one line where there is room"(open) {
    const it = await open("#play=e2e4,c7c5,g1f3,d7d6,d2d4,c5d4,f3d4,g8f6,b1c3", { viewport: { width: 1920, height: 1080 } });
    await it.says("moves", "Najdorf");
    const lines = await it.page.locator("#moves tbody small").evaluateAll((all) =>
      all.map((name) => name.getBoundingClientRect().height / parseFloat(getComputedStyle(name).lineHeight)));
    assert.ok(lines.every((line) => line < 1.5), lines.join());
    const table = await it.page.locator("#moves table").boundingBox();
    assert.ok(table.width > 850, `${table.width}`);
  },

  async "promote"(open) {
    const it = await open(`#source=suite&fen=${inAddress(promoting)}`);
    await it.until("the pawn is there", () => document.querySelector('[data-square="a7"]').dataset.piece === "P");
    await it.drag("a7", "a8");
    const choice = it.page.getByRole("dialog", { name: "Promote to" });
    assert.deepEqual(await choice.getByRole("button").evaluateAll((all) => all.map((it) => it.ariaLabel)), ["queen", "rook", "bishop", "knight"]);
    await it.keys("ArrowRight", "ArrowDown", "ArrowLeft");
    assert.equal(await it.page.evaluate(() => document.activeElement.ariaLabel), "rook");
    await it.keys("Escape");
    await it.until("the pawn is back", () => document.querySelector('[data-square="a7"] .piece') && !document.querySelector("dialog[open]"));
    await it.square("a7").click();
    await it.square("a8").click();
    await choice.getByRole("button", { name: "rook" }).click();
    await it.lineIs("a8=R+");
    assert.equal(await it.piece("a8"), "R");
    await it.says("status", "Black to move, in check");
  },

  async "read a record, and play its moves"(open) {
    const it = await open("#source=suite&play=e2e4,e7e5,g1f3,b8c6,f1b5");
    await it.lineIs("e4 e5 Nf3 Nc6 Bb5");
    const record = (await it.page.locator("#records").innerText()).replace(/\s+/g, " ");
    for (const words of ["Name id S.1", "Best moves bm a6", "Moves to avoid am f6", "Evaluation ce +0.34 for Black", "Comment 0 c0 the Spanish"]) {
      assert.ok(record.includes(words), `${words}: ${record}`);
    }
    const solved = (await it.page.locator("#backsolved").innerText()).replace(/\s+/g, " ");
    assert.match(solved, /\+0\.34 for Black.*2 plies on.*own evaluation was \+0\.20.*Best move: a6/);
    await it.page.getByRole("button", { name: "Play f6", exact: true }).hover();
    assert.equal(await it.page.locator("#arrows").getAttribute("data-move"), "f7f6");
    await it.page.getByRole("button", { name: "Play a6 Ba4", exact: true }).press("Enter");
    await it.lineIs("e4 e5 Nf3 Nc6 Bb5 a6 Ba4");
    assert.notEqual(await it.focused(), "body");
    await it.keys("ArrowLeft", "ArrowLeft");
    await it.lineIs("e4 e5 Nf3 Nc6 Bb5");
    await it.page.getByRole("button", { name: "the position at the end of the best line" }).click();
    await it.until("its position is there", () => document.querySelector('[data-square="a4"]').dataset.piece === "B");
  },

  async "read a suite record by record"(open) {
    const it = await open("#source=suite");
    await it.says("moves", "This position is not in suite.");
    const go = (name) => it.page.locator("#browse").getByRole("button", { name }).press("Enter");
    await go("First record");
    await it.says("browse", "Record 1 of 2");
    await it.says("records", "S.1");
    await go("Next");
    await it.says("browse", "Record 2 of 2");
    await it.says("records", "S.2");
    await it.says("moves", "This position has a record.");
    assert.equal(await it.focused(), "#browse");
    assert.deepEqual(await it.page.locator("#browse button:enabled").allTextContents(), ["First", "Previous"]);
    // A line that begins at a record does not lose its place.
    await it.enter("Kg2");
    await it.lineIs("Kg2");
    await it.says("browse", "Record 2 of 2");
    await go("Previous");
    await it.says("browse", "Record 1 of 2");
    await it.page.getByRole("radio", { name: "masters" }).check({ force: true });
    await it.until("games are not read so", () => document.querySelector("#browse").hidden);
  },

  async "read an opening book"(open) {
    const it = await open("#source=book");
    await it.says("moves", "Weight");
    const heads = await it.page.locator("#moves thead th").evaluateAll((all) => all.map((head) => head.className));
    assert.deepEqual(heads, ["san", "weight"]);
    const rows = (await it.page.locator("#moves tbody td.weight").allInnerTexts()).map((row) => row.trim());
    // The last move is none of the book, and leads to one of its positions.
    assert.equal(rows.pop(), "–");
    assert.ok(rows.length > 1 && rows.every((row) => /^\d+\s+\d+\.\d%$/.test(row)), rows.join("|"));
    const weights = rows.map((row) => parseInt(row, 10));
    assert.deepEqual(weights, [...weights].sort((a, b) => b - a));
    assert.equal(parseInt(await it.page.locator("#moves tfoot td.weight").innerText(), 10), weights.reduce((sum, weight) => sum + weight));
    await it.page.locator("#moves tbody tr").first().click();
    await it.says("parents", "weight ");
  },

  async "open a game"(open) {
    const it = await open("#play=e2e4,c7c5");
    await it.lineIs("e4 c5");
    await it.page.getByRole("button", { name: /^Open the game Anders 2700 against Berta 2650/ }).first().press("Enter");
    await it.until("its moves are there", () => document.querySelectorAll("#line .san button").length === 10);
    await it.lineIs("e4 c5");
    assert.equal(await it.focused(), "#line");
    const game = it.page.getByRole("group", { name: "Game on the board" });
    assert.equal((await game.innerText()).replace(/\s+/g, " "), "Anders 2700 Berta 2650 1–0 2019.05.11 Copy game PGN");
    await it.keys("ArrowRight");
    await it.lineIs("e4 c5 Nf3");
    assert.match(await it.copied("Copy PGN of the line"), /\[White "Anders"\]\n[^]*\[Result "\*"\][^]*\n\n1\. e4 c5 2\. Nf3 \*\n$/);
    assert.match(await it.copied("Copy game"), /\[White "Anders"\]\n[^]*5\. *Nc3 a6 1-0\s*$/);
    const file = await game.getByRole("link").getAttribute("href");
    assert.match(decodeURIComponent(file), /^data:application[^]*\[White "Anders"\]/);
    await it.page.locator("#last").click();
    await it.says("opening", "Najdorf");
    assert.match(await it.copied("Copy PGN of the line"), /\[Result "1-0"\][^]* 1-0\n$/);
    await it.page.reload();
    await it.says("opening", "Najdorf");
    await it.says("game", "Anders");
    await it.enter("Bg5");
    await it.until("it is no longer the game", () => document.querySelector("#game").hidden && !location.hash.includes("game="));
  },

  async "find games by a pattern, by keyboard and by hand"(open) {
    await (await open("#source=masters")).findByPattern("Anders");
  },

  async "sort the table, and see arrows"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    assert.deepEqual(await it.moves(), ["d4", "e4", "c4", "f3"]);
    const head = it.page.getByRole("columnheader", { name: /^Score/ });
    await head.getByRole("button").click();
    assert.equal(await head.getAttribute("aria-sort"), "descending");
    assert.equal((await it.moves()).at(-1), "f3");
    await head.getByRole("button").click();
    assert.equal(await head.getAttribute("aria-sort"), "ascending");
    assert.equal((await it.moves())[0], "f3");
    await it.page.locator('#moves tr[data-uci="d2d4"]').hover();
    assert.equal(await it.page.locator("#arrows").getAttribute("data-move"), "d2d4");
    assert.equal(await it.page.locator("#arrows polygon").count(), 1);
    // Together they are all games.
    assert.match((await it.page.locator("tfoot").innerText()).replace(/\s+/g, " "), /^Σ All 4 moves 8 8 this position/);
    const mate = await open("#play=f2f3,e7e5,g2g4,d8h4");
    await mate.says("status", "Checkmate: Black has won");
    await mate.says("moves", "No move can be played here.");
    await mate.close();
  },

  async "copy"(open) {
    const it = await open("#play=e2e4,c7c5");
    await it.lineIs("e4 c5");
    assert.equal(await it.copied("Copy FEN"), "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2");
    assert.equal(await it.copied("Copy EPD"), "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -");
    assert.equal(await it.copied("Copy link"), `${base}/#source=masters&play=e2e4,c7c5`);
    assert.match(await it.copied("Copy PGN of the line"), /^\[Event "\?"\][^]*\n\n1\. e4 c5 \*\n$/);
  },

  async "keep what is shown when the server is gone"(open) {
    const it = await open("#play=e2e4", { expected: /net::ERR_FAILED/ });
    await it.lineIs("e4");
    const gone = (route) => route.abort();
    await it.page.route("**/api/**", gone);
    await it.drag("c7", "c5");
    await it.says("trouble", "The server does not answer");
    assert.equal(await it.piece("c7"), "p");
    assert.ok((await it.moves()).length > 0);
    await it.page.unroute("**/api/**", gone);
    await it.page.getByRole("button", { name: "Ask again" }).click();
    await it.lineIs("e4 c5");
    assert.equal(await it.page.locator("#trouble").textContent(), "");
  },

  async "answer the latest question only"(open) {
    const it = await open();
    await it.says("opening", "Start position");
    const isSlow = (url) => url.pathname.endsWith("/api/position") && url.searchParams.get("play") === "e2e4";
    const ofSlow = { predicate: (request) => isSlow(new URL(request.url())) };
    const asked = it.page.waitForEvent("request", ofSlow);
    const ended = Promise.any(["requestfinished", "requestfailed"].map((event) => it.page.waitForEvent(event, ofSlow)));
    let letGo;
    const held = new Promise((resolve) => { letGo = resolve; });
    await it.page.route(isSlow, async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
    await it.page.locator('#moves tr[data-uci="e2e4"]').click();
    await asked;
    await it.page.evaluate(() => { location.hash = "#play=d2d4"; });
    await it.lineIs("d4");
    letGo();
    await ended;
    await it.page.evaluate(() => fetch("api/sources").then((response) => response.json()));
    await it.lineIs("d4");
    await it.enter("Nf6");
    await it.lineIs("d4 Nf6");
  },

  async "choose light or dark"(open) {
    const it = await open("", { colorScheme: "light" });
    await it.says("opening", "Start position");
    const ground = () => it.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await it.page.getByRole("button", { name: "Dark colours" }).click();
    const dark = await ground();
    assert.notEqual(light, dark);
    await it.page.reload();
    await it.says("opening", "Start position");
    assert.equal(await ground(), dark);
  },

  async "nothing serious is found by axe"(open) {
    const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    const places = ["", `#play=${najdorf}&ply=4`, "#play=e2e4,c7c5,a2a3", "#source=suite&play=e2e4,e7e5,g1f3,b8c6,f1b5", "#source=mine&speeds=blitz", "#play=e2e4&until=2018", `#source=suite&fen=${inAddress(promoting)}`, `#source=fischer&fen=${inAddress(fischer)}`];
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1280, 360]) {
        const it = await open("", { colorScheme, viewport: { width, height: 900 } });
        for (const place of places) {
          await it.page.goto("about:blank");
          await it.page.goto(`${base}/${place}`);
          await it.until("it is shown", () => document.querySelector("#board .piece") && !document.body.classList.contains("busy"));
          await it.page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
          await it.page.evaluate(axe);
          assert.deepEqual(await findings(it), [], `${place} ${colorScheme} ${width}`);
        }
        await it.page.goto(`${base}/#play=e2e4,c7c5`);
        await it.page.getByRole("button", { name: /^Open the game Anders/ }).first().click();
        await it.says("game", "Berta");
        assert.deepEqual(await findings(it), [], `game ${colorScheme} ${width}`);
        await it.keys("?");
        assert.deepEqual(await findings(it), [], `help ${colorScheme} ${width}`);
        await it.close();
      }
    }
  },
};

/** How many pixels of what is wider than its place are cut. */
const cut = (scroller) => scroller.evaluate((node) => node.scrollWidth - node.clientWidth);

/** What axe finds; all of it is printed, and what is serious returned. */
const findings = async (it) => {
  const { violations } = await it.page.evaluate(() => window.axe.run());
  const told = violations.map(({ id, impact, nodes }) => `${impact}: ${id}: ${nodes.map(({ html }) => html).slice(0, 3).join(" ")}`);
  told.forEach((finding) => console.log(`  ${finding}`));
  return told.filter((finding) => /^(serious|critical)/.test(finding));
};

const browser = await launch(executable);
let failed = 0;
const only = process.argv[4];
for (const [name, task] of Object.entries(tasks)) {
  if (only && !name.includes(only)) continue;
  const opened = [];
  const open = async (hash, options) => {
    const it = await Explorer.open(browser, base, hash, options);
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
}
await browser.close();
process.exit(failed ? 1 : 0);
