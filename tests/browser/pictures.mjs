// The pictures of the README, of a running explorer and of a report:
//
//     node pictures.mjs EXPLORER_URL REPORT.html FOLDER [BROWSER]

import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { Explorer, launch } from "./browser.mjs";

const [base, report, folder, executable = "/usr/bin/chromium"] = process.argv.slice(2);
const browser = await launch(executable);
const size = { viewport: { width: 1280, height: 800 } };

const explorer = await Explorer.open(browser, base, "#play=e2e4,e7e5,g1f3,b8c6,f1b5", size);
await explorer.lineIs("e4 e5 Nf3 Nc6 Bb5");
await explorer.page.screenshot({ path: join(folder, "explorer.png") });
await explorer.close();

// The two charts of the section, with the margin of the page around them.
const page = await (await browser.newContext(size)).newPage();
await page.goto(pathToFileURL(report).href);
const { x, y, width } = await page.locator("#time").boundingBox();
const charts = await page.locator("#time figure").first().boundingBox();
const clip = { x: x - 20, y, width: width + 40, height: charts.y + charts.height + 20 - y };
await page.screenshot({ path: join(folder, "report.png"), fullPage: true, clip });
await browser.close();
