// Text that tries to be more than text stays text, on every screen.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BIDI, LONG_LINE, MARKDOWN, NAME, SCRIPT, TERMINAL } from "../mock/hostile.js";
import { visible } from "../../src/ui/assets/js/safe_text.js";
import { staysText, strangersAsked } from "./checks.js";
import { goTo, launch, SCREENS, withMock, withPage } from "./harness.js";

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const session = encodeURIComponent(NAME);
const PLACES = SCREENS.map((screen) => {
  if (screen === "recall") return "recall?q=x&in=talk";
  return ["memories", "now", "sessions"].includes(screen) ? screen : `${screen}/${session}`;
});

for (const width of [380, 1280]) {
  test(`no markup, script or hidden character takes effect at ${width} pixels`, () => withMock("hostile", (mock) => withPage(browser, mock.url, async (page) => {
    const asked = strangersAsked(page, new URL(mock.url).origin);
    for (const place of PLACES) {
      await goTo(page, place);
      await staysText(page, place);
    }
    assert.deepEqual(asked, []);
  }, { viewport: { width, height: 900 } })));
}

test("the words are all there, as they are", () => withMock("hostile", (mock) => withPage(browser, mock.url, async (page) => {
  await goTo(page, `context/${session}`);
  await page.locator(".block-item").first().click();
  const text = await page.getByRole("region", { name: "The block's text" }).textContent();
  for (const part of [SCRIPT, MARKDOWN, TERMINAL, BIDI]) assert.ok(text.includes(visible(part)), part);
})));

test("a line of a million characters comes in pieces and loses none", () => withMock("hostile", (mock) => withPage(browser, mock.url, async (page) => {
  await goTo(page, `context/${session}`);
  await page.locator(".block-item").nth(1).click();
  await page.getByRole("button", { name: /^Load the rest/u }).click();
  await page.getByRole("button", { name: /^Show more: 1,028,576 of 1,048,576/u }).waitFor();
  for (let shown = 40_000; shown <= 100_000; shown += 20_000) {
    await page.getByRole("button", { name: /^Show more/u }).click();
    assert.equal((await page.getByRole("region", { name: "The block's text" }).textContent()).length, shown);
  }
  assert.equal(LONG_LINE.length, 1_048_576);
})));
