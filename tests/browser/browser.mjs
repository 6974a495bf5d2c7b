// A browser with pages that notice what must not happen, and what is asked of a page again and again.

import assert from "node:assert/strict";

import { chromium } from "playwright-core";

const flags = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

export const launch = (executablePath) => chromium.launch({ executablePath, args: flags });

/** The explorer in a page of its own. */
export class Explorer {
  /** Opens it at a hash. `expected` is what the console may complain of. */
  static async open(browser, base, hash = "", { expected = null, ...context } = {}) {
    const own = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context });
    const { origin: home, protocol: scheme } = new URL(base);
    await own.grantPermissions(["clipboard-read", "clipboard-write"], scheme === "file:" ? {} : { origin: home });
    const page = await own.newPage();
    page.setDefaultTimeout(10_000);
    const explorer = new Explorer(page, base);
    page.on("console", (message) => {
      const text = message.text();
      if (message.type() === "error" && !expected?.test(text)) explorer.complaints.push(`console: ${text}`);
    });
    page.on("pageerror", (error) => explorer.complaints.push(`uncaught: ${error.stack}`));
    page.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      if (!["data:", "blob:"].includes(protocol) && origin !== home) explorer.complaints.push(`asked ${request.url()}`);
    });
    await page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    });
    // A page of its own is a file.
    await page.goto(base.endsWith(".html") ? base + hash : `${base}/${hash}`);
    return explorer;
  }

  constructor(page, base) {
    this.page = page;
    this.base = base;
    this.complaints = [];
  }

  async close() {
    await this.page.context().close();
    assert.deepEqual(this.complaints, []);
  }

  /** Finds games by a pattern that is set by keyboard and by hand, and opens the first one, which has this player. */
  async findByPattern(player) {
    await this.says("opening", "Start position");
    await this.page.locator("#pattern-open").click();
    assert.equal(await this.page.evaluate(() => document.activeElement.getAttribute("aria-label")), "e4, anything");
    await this.keys("P", "ArrowUp", "ArrowLeft", "ArrowLeft", "p");
    await this.page.getByRole("radio", { name: "empty", exact: true }).check({ force: true });
    await this.page.getByRole("gridcell", { name: "g1, anything" }).click();
    await this.page.getByRole("button", { name: "Find", exact: true }).click();
    await this.says("found", "board('8/8/8/2p5/4P3/8/8/6_1')");
    await this.says("found", "Reached by 2 games of ");
    await this.page.locator("#found tbody button").first().click();
    await this.lineIs("e4 c5 Nf3");
    await this.says("game", player);
    await this.page.locator("#found").getByRole("button", { name: "Close" }).click();
    assert.ok(!(await this.page.locator("#found").isVisible()));
  }

  /** Waits until something holds in the page, and says what there is instead. */
  async until(what, holds, argument) {
    try {
      await this.page.waitForFunction(holds, argument);
    } catch {
      const text = await this.page.evaluate(() => `${location.hash}\n${document.body.innerText}`);
      assert.fail(`not so: ${what}\n${text}`);
    }
  }

  /** Waits until the line is this one, as far as it is shown on the board, and nothing is being asked. */
  lineIs(line) {
    return this.until(`the line is "${line}"`, (expected) => {
      const moves = [...document.querySelectorAll("#line .san button")];
      const here = moves.findIndex((move) => move.getAttribute("aria-current"));
      const board = document.querySelectorAll("#board .piece").length;
      return board > 0 && !document.body.classList.contains("busy")
        && moves.slice(0, here + 1).map((move) => move.textContent).join(" ") === expected;
    }, line);
  }

  /** Waits until a part of the page has words. */
  says(id, words) {
    return this.until(`#${id} says "${words}"`, ([part, expected]) =>
      document.getElementById(part).textContent.includes(expected) && !document.body.classList.contains("busy"), [id, words]);
  }

  square(name) {
    return this.page.locator(`[data-square="${name}"]`);
  }

  /** The letter of the piece on a square. */
  piece(name) {
    return this.square(name).getAttribute("data-piece");
  }

  async middle(name) {
    const box = await this.square(name).boundingBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  }

  async drag(from, to) {
    await this.page.mouse.move(...(await this.middle(from)));
    await this.page.mouse.down();
    await this.page.mouse.move(...(await this.middle(to)), { steps: 6 });
    await this.page.mouse.up();
  }

  async keys(...names) {
    for (const name of names) await this.page.keyboard.press(name);
  }

  /** Moves the cursor of the board, which has the focus, and presses a key there. */
  async keyAt(square, key) {
    const here = await this.page.evaluate(() => document.activeElement.dataset.square);
    const [right, up] = [square.charCodeAt(0) - here.charCodeAt(0), Number(square[1]) - Number(here[1])];
    for (let step = 0; step < Math.abs(right); step++) await this.keys(right > 0 ? "ArrowRight" : "ArrowLeft");
    for (let step = 0; step < Math.abs(up); step++) await this.keys(up > 0 ? "ArrowUp" : "ArrowDown");
    assert.equal(await this.page.evaluate(() => document.activeElement.dataset.square), square);
    await this.keys(key);
  }

  async enter(text) {
    await this.page.fill("#box", text);
    await this.page.press("#box", "Enter");
  }

  /** The cells of the row of a move: its text by column. */
  row(uci) {
    return this.page.locator(`#moves tr[data-uci="${uci}"]`).evaluate((row) =>
      Object.fromEntries([...row.cells].map((cell) => [cell.className || "move", cell.innerText.replace(/\s+/g, " ").trim()])));
  }

  /** The moves of the table, from above. */
  moves() {
    return this.page.locator("#moves tbody button").allTextContents();
  }

  /** The part of the page that has the focus, as `#moves`; `body` where none has. */
  focused() {
    return this.page.evaluate(() => {
      const part = document.activeElement.closest("body [id]:not(#left, #more)");
      return part ? `#${part.id}` : "body";
    });
  }

  /** What a button copies. */
  async copied(name) {
    await this.page.getByRole("button", { name, exact: true }).click();
    await this.until(`${name} is said`, () => document.querySelector("#said").textContent.startsWith("Copied"));
    return this.page.evaluate(() => navigator.clipboard.readText());
  }

  said() {
    return this.page.locator("#said").textContent();
  }

  address() {
    return this.page.evaluate(() => location.hash);
  }

  /** How many pixels the page is wider than its window. */
  excess() {
    return this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  }
}
