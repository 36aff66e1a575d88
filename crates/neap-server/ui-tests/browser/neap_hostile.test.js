// Text that tries to be more than text stays text, on every screen of the real program that shows it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { visible } from "../../src/ui/assets/js/safe_text.js";
import { ALL, BIDI, LONG_LINE, NAME, SCRIPT } from "../mock/hostile.js";
import { staysText, strangersAsked } from "./checks.js";
import { goTo, launch, SCREENS, withPage } from "./harness.js";
import { addHostile, EFFORTS, LONG_TURN, PATH, SESSION, TOOL_TURN, TURNS } from "./hostile_store.js";
import { SKIP, withServer } from "./neap.js";

const HIDDEN = encodeURIComponent("\u202E<b>x</b>");
/** Places, and what must be read there. */
const PLACES = [
  [`context/${SESSION}?turn=2`, PATH],
  [`context/${SESSION}?turn=${TOOL_TURN}`, BIDI],
  [`timeline/${SESSION}?turn=1`, ALL],
  [`timeline/${SESSION}?turn=2&view=prompt`, PATH],
  [`timeline/${SESSION}?turn=${LONG_TURN}`, LONG_LINE.slice(0, 1_200)],
  [`timeline/${SESSION}?turn=${TOOL_TURN}`, ALL],
  [`efforts/${SESSION}`, EFFORTS.open],
  [`receipts/${SESSION}`, "svg-onload"],
  [`cost/${SESSION}`, SESSION],
  ["recall?q=title+owned+pixel", SCRIPT],
  ["recall?q=gnp.exe&in=talk", BIDI],
  [`recall?q=title&expect=${HIDDEN}`, "‹U+202E›<b>x</b>"],
  ["memories", SCRIPT],
  [`memories?id=${HIDDEN}`, "‹U+202E›<b>x</b>"],
  ["now", "No proxy runs here"],
  ["sessions", SESSION],
];
const WIDTHS = [380, 1280];

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test("hostile text stays text", { skip: SKIP }, (t) => withServer((_, replay) => replay(SESSION, TURNS), async (server) => {
  await addHostile(server.call);
  const open = (/** @type {(page: any) => Promise<void>} */ check, options = {}) =>
    withPage(browser, `${server.origin}/ui/`, check, { extraHTTPHeaders: { authorization: `Bearer ${server.token}` }, ...options });
  await t.test("on every screen", () => open((page) => everyScreen(page, server.origin), { prints: /status of 40[04]/u }));
  await t.test("in details and dialogs", () => open((page) => details(page, server)));
  await t.test("in a line of a million characters, which loses none", () => open(longLine));
}));

/** @param {any} page @param {string} origin */
async function everyScreen(page, origin) {
  const asked = strangersAsked(page, origin);
  for (const [place = "", words = ""] of PLACES) {
    await goTo(page, place);
    await page.getByRole("main").getByText(visible(words)).filter({ visible: true }).first().waitFor();
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      await staysText(page, `${place} at ${width} pixels`);
    }
  }
  assert.deepEqual(SCREENS.filter((screen) => !PLACES.some(([place]) => place?.startsWith(screen))), []);
  assert.deepEqual(asked, []);
}

/** @param {any} page @param {import("./neap.js").Server} server */
async function details(page, { call }) {
  const reads = async (/** @type {any} */ place, /** @type {string} */ words) => {
    await place.getByText(visible(words)).filter({ visible: true }).first().waitFor();
    await staysText(page, words);
  };
  await goTo(page, `context/${SESSION}?turn=1`);
  await page.locator(".block-item", { hasText: SCRIPT }).first().click();
  const text = await page.getByRole("region", { name: "The block's text" }).textContent();
  assert.ok(text.includes(visible(ALL)), text);
  await goTo(page, `efforts/${SESSION}`);
  await page.locator(".effort-item").last().click();
  const effort = page.getByRole("region", { name: "The chosen effort" });
  await reads(effort.getByRole("heading"), EFFORTS.ended);
  await reads(effort.locator(".exchange"), ALL);
  await effort.getByRole("button", { name: "Expand" }).click();
  await reads(page.locator(".notices"), "Expanded");
  await goTo(page, `receipts/${SESSION}`);
  await reads(page.locator(".examples"), "\u202Egnp.exe");
  await page.getByRole("button", { name: "Original words" }).click();
  await reads(page.getByRole("region", { name: "The original words of" }), PATH);
  await goTo(page, "memories");
  const memory = page.getByRole("region", { name: "The chosen memory" });
  for (const { id } of (await call("GET", "/memories")).items) {
    await page.locator(".item", { hasText: id }).click();
    await memory.getByRole("heading", { name: id }).waitFor();
    await reads(memory, SCRIPT.slice(0, 30));
  }
  await goTo(page, "memories?id=f1");
  await memory.getByRole("button", { name: "Edit" }).click();
  // What is edited must be what is stored.
  assert.equal(await page.getByRole("dialog").getByLabel("Fact", { exact: true }).inputValue(), (await call("GET", "/memories/f1")).body.content);
  await page.keyboard.press("Escape");
  await memory.getByRole("button", { name: "Forget" }).click();
  await reads(page.getByRole("dialog"), SCRIPT);
  await page.keyboard.press("Escape");
  await memory.getByRole("button", { name: "Confirm" }).click();
  await reads(page.locator(".notices"), "f1");
}

/** @param {any} page */
async function longLine(page) {
  const count = (/** @type {number} */ chars) => chars.toLocaleString("en");
  const rest = (/** @type {number} */ chars) => page.getByRole("button", { name: `Load the rest: ${count(chars - 20_000)} characters` });
  await goTo(page, `context/${SESSION}?turn=${TOOL_TURN}`);
  await rest(`${ALL}\n${LONG_LINE}`.length).waitFor();
  await goTo(page, `efforts/${SESSION}`);
  await page.locator(".effort-item").first().click();
  await rest(LONG_LINE.length).click();
  for (const shown of [20_000, 40_000]) {
    await page.getByRole("button", { name: `Show more: ${count(LONG_LINE.length - shown)} of ${count(LONG_LINE.length)} characters left` }).click();
  }
  assert.equal(await page.getByRole("region", { name: `Message of turn ${LONG_TURN}` }).textContent(), LONG_LINE.slice(0, 60_000));
}
