// Opens the page in Chromium and collects what it prints; tests end with an empty console.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { startMock } from "../mock/server.js";

const TOOLS = process.env.NEAP_PAGE_TOOLS ?? new URL("../../../../target/page", import.meta.url).pathname;
const CHROMIUM = process.env.NEAP_CHROMIUM ?? "/usr/bin/chromium";
const require = createRequire(`${TOOLS}/`);
const { chromium } = require("playwright-core");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const SCREENS = ["context", "timeline", "efforts", "receipts", "cost", "recall", "memories", "now", "sessions"];

/** One browser for the tests of a file. */
export function launch() {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/**
 * A page in a context of its own; `check` runs in it, and afterwards its console must be empty.
 * @param {any} browser
 * @param {string} url
 * @param {(page: any) => Promise<void>} check
 * @param {Record<string, unknown> & { prints?: RegExp }} [options] of the browser's context; `prints`: what the browser itself prints about refused requests
 */
export async function withPage(browser, url, check, { prints, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  /** @type {string[]} */
  const printed = [];
  page.on("console", (/** @type {any} */ message) => printed.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (/** @type {Error} */ error) => printed.push(String(error.stack)));
  page.on("dialog", (/** @type {any} */ dialog) => {
    printed.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.setDefaultTimeout(15_000);
  try {
    await page.goto(url);
    await check(page);
    assert.deepEqual(printed.filter((line) => !prints?.test(line)), []);
  } finally {
    await context.close();
  }
}

/** @param {any} page @param {string} place after `#/` */
export async function goTo(page, place) {
  await page.evaluate((/** @type {string} */ hash) => (location.hash = hash), `#/${place}`);
  await settled(page, place.split(/[/?]/u)[0] ?? "");
}

/** Waits until the screen has something to show and asks for nothing more. @param {any} page @param {string} screen */
export async function settled(page, screen) {
  const name = screen.charAt(0).toUpperCase() + screen.slice(1);
  await page.locator(`section.screen[aria-label="${name}"] h1`).waitFor();
  await page.waitForFunction(() => !document.querySelector(".loading"));
  await page.locator("section.screen .card").first().waitFor();
}

/** Live updates come within this time. A busy machine delays one of them, a slow page all. */
const LIVE_MS = 1_000;
const LIVE_TRIES = 5;

/**
 * Lets something happen, at most a few times, until it shows in time; each time it must show.
 * @param {(nth: number) => Promise<any>} happen from 1; returns the locator of what shows then
 */
export async function showsInTime(happen) {
  const took = [];
  for (let nth = 1; nth <= LIVE_TRIES; nth += 1) {
    const shown = await happen(nth);
    const since = performance.now();
    await shown.waitFor();
    took.push(Math.round(performance.now() - since));
    if ((took.at(-1) ?? LIVE_MS) < LIVE_MS) return;
  }
  assert.fail(`each live update took longer than ${LIVE_MS} ms: ${took.join(", ")}`);
}

/**
 * What axe finds wrong, one line for each.
 * @param {any} page
 * @param {{ within?: string, rules?: string[] }} [options] a part of the page, some rules
 */
export async function violations(page, { within = "html", rules } = {}) {
  const isThere = await page.evaluate(() => "axe" in globalThis);
  // Not by a script element: the page's policy refuses it.
  if (!isThere) await page.evaluate(await readFile(require.resolve("axe-core/axe.min.js"), "utf8"));
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: { type: "rule", values: rules } }) };
  const result = await page.evaluate((/** @type {any[]} */ [part, how]) => /** @type {any} */ (globalThis).axe.run(part, how), [within, options]);
  return result.violations.map((/** @type {any} */ each) => `${each.id}: ${each.nodes.map((/** @type {any} */ node) => `${node.target} ${node.failureSummary}`).join("; ")}`);
}

/** How far the page scrolls sideways, in pixels. @param {any} page */
export function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** @param {"story" | "empty" | "large" | "hostile"} data @param {(mock: Awaited<ReturnType<typeof startMock>>) => Promise<void>} check */
export async function withMock(data, check) {
  const mock = await startMock(data);
  try {
    await check(mock);
  } finally {
    await mock.stop();
  }
}
