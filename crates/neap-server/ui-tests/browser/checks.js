// What tests of made-up data and of the real program both look at.

import assert from "node:assert/strict";
import { overflow } from "./harness.js";

/** Fails if a text became markup or a script, or hides characters from the reader. @param {any} page @param {string} place */
export async function staysText(page, place) {
  const found = await page.evaluate(() => {
    const said = [...document.querySelectorAll("[title], [aria-label]")].flatMap((each) => [each.getAttribute("title"), each.getAttribute("aria-label")]);
    return {
      title: document.title,
      made: ["script", "img", "iframe", "svg[onload]", "[onerror]", "[onclick]", "a[href^='javascript:']", "b", "h4"].filter((tag) => document.querySelector(`main ${tag}, dialog ${tag}, #notices ${tag}`)),
      hidden: [document.body.innerText, ...said].flatMap((text) => text?.match(/[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u0007\u001b\u009b].{0,40}/gu) ?? []),
    };
  });
  assert.deepEqual(found.made, [], place);
  assert.deepEqual(found.hidden, [], place);
  assert.ok(found.title.endsWith("· Neap"), found.title);
  assert.equal(await overflow(page), 0, place);
}

/** What the page asks of anybody but its own server, from now on. @param {any} page @param {string} origin */
export function strangersAsked(page, origin) {
  /** @type {string[]} */
  const asked = [];
  page.on("request", (/** @type {any} */ request) => {
    if (!request.url().startsWith(origin)) asked.push(request.url());
  });
  return asked;
}

/** Rows of a list that exist at a time, at most. */
const ROWS_MAX = 60;

/** Fails if a list has more rows than are in view. @param {any} page @param {string} place */
export async function drawsFewRows(page, place) {
  assert.ok((await page.locator(".virtual-row").count()) <= ROWS_MAX, place);
}

/** The list of turns, newest first, scrolls to any place, and each row becomes the turn it says. @param {any} page @param {number} turns */
export async function scrollsAnywhere(page, turns) {
  const list = page.locator(".virtual").first();
  for (const part of [0.5, 1, 0.123, 0.9999, 0]) {
    await list.evaluate((/** @type {HTMLElement} */ element, /** @type {number} */ share) => (element.scrollTop = share * (element.scrollHeight - element.clientHeight)), part);
    const middle = Math.round(turns - part * (turns - 1));
    await page.waitForFunction((/** @type {number} */ turn) => [...document.querySelectorAll(".turn-item")].some((row) => Math.abs(Number(row.firstChild?.textContent?.replaceAll(",", "")) - turn) < 10), middle);
    await page.waitForFunction(() => [...document.querySelectorAll(".turn-item .top")].every((row) => row.textContent !== "…"));
    await drawsFewRows(page, `turn ${middle}`);
  }
  const rows = await page.locator(".turn-item").allTextContents();
  assert.ok(rows[0].startsWith(turns.toLocaleString("en")), rows[0]);
}
