// Pages that are opened as files, such as reports, in light and dark, wide and narrow:
//
//     node pages.mjs BROWSER PAGE.html…
//
// Nothing serious is found by axe, nothing is wider than the window, and the console has no complaint.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

import { launch } from "./browser.mjs";

const [executable, ...files] = process.argv.slice(2);
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await launch(executable);

for (const file of files) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 360]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
      const page = await context.newPage();
      const complaints = [];
      page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
      page.on("pageerror", (error) => complaints.push(error.stack));
      await page.goto(pathToFileURL(file).href);
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html).join(" ")}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      const where = `${file} ${colorScheme} ${width}`;
      assert.deepEqual([...serious, ...complaints], [], where);
      assert.ok(wide <= 0, `${where}: ${wide} pixels wider than the window`);
      await context.close();
    }
  }
}
await browser.close();
