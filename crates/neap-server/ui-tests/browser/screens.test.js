// Each screen with a recorded session: what it shows, in every width and theme, and for screen readers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { goTo, launch, overflow, SCREENS, violations, withMock, withPage } from "./harness.js";

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** @param {(page: any, mock: any) => Promise<void>} check */
const withStory = (check, options = {}) => withMock("story", (mock) => withPage(browser, mock.url, (page) => check(page, mock), options));

test("the context is a bar of layers whose widths are their tokens", () => withStory(async (page) => {
  await page.getByText("6,121").first().waitFor();
  const widths = await page.evaluate(() => [...document.querySelectorAll(".bar-layer")].map((layer) => parseFloat(/** @type {HTMLElement} */ (layer).style.width)));
  const sum = widths.reduce((/** @type {number} */ all, /** @type {number} */ width) => all + width, 0);
  assert.ok(Math.abs(sum - (6_121 / 8_000) * 100) < 0.01, String(sum));
  assert.match(await page.locator(".bar").getAttribute("aria-label"), /^6,121 of 8,000 tokens: Rules and tools 910, .*5,757 from the cache\.$/u);
  assert.equal(await page.locator(".bar-mark").getAttribute("data-label"), "rewritten for turn 188");
  await page.getByRole("button", { name: /Preferences/u }).click();
  await page.getByText("a preference that is always loaded").waitFor();
  await page.getByRole("region", { name: "The block's text" }).getByText("The person prefers short answers").waitFor();
  await page.getByRole("region", { name: "Left out" }).getByText("nothing referred to them for long").waitFor();
}));

test("any turn is shown as it was sent, and against any other", () => withStory(async (page) => {
  await goTo(page, "timeline/auth-service?turn=137");
  await page.getByRole("heading", { name: "Turn 137" }).waitFor();
  await page.locator(".reasons").getByText("the prompt was rewritten, because there was no more room").waitFor();
  await page.getByText("− left").first().waitFor();
  await page.getByRole("button", { name: "As it was sent" }).click();
  await page.getByText("── system ──").waitFor();
  assert.match(await page.getByRole("region", { name: "The prompt of turn 137" }).textContent(), /Would a partial index do\?$/u);
  await page.getByLabel("Compare with turn").fill("3");
  await page.getByLabel("Compare with turn").press("Enter");
  await page.getByText("+ entered").first().waitFor();
  assert.match(page.url(), /turn=137.*with=3/u);
  await page.getByRole("slider").fill("12");
  await page.getByRole("heading", { name: "Turn 12" }).waitFor();
}));

test("an effort opens its log, expands and collapses", () => withStory(async (page) => {
  await goTo(page, "efforts/auth-service");
  const row = page.locator(".effort-item", { hasText: "refresh token 4" });
  await row.click();
  const detail = page.getByRole("region", { name: "The chosen effort" });
  await detail.getByText("REFRESH_TTL_SECONDS").first().waitFor();
  await detail.getByRole("link", { name: "Turn 190" }).waitFor();
  await detail.getByRole("button", { name: "Expand" }).click();
  await row.getByText("expanded").waitFor();
  await detail.getByRole("button", { name: "Collapse" }).click();
  await row.getByText("summary").waitFor();
}));

test("a receipt leads to the original words", () => withStory(async (page) => {
  await goTo(page, "receipts/auth-service");
  await page.getByRole("button", { name: /slow-search-3.*1 changed/u }).click();
  await page.getByText("8443 became 8444").waitFor();
  await page.getByRole("button", { name: "Original words" }).click();
  await page.getByRole("region", { name: "The original words of" }).getByText("user:").waitFor();
}));

test("a recall shows the parts of each score, and where an expected memory was dropped", () => withStory(async (page) => {
  await goTo(page, "recall");
  await page.getByLabel("Question").fill("which postgresql runs on staging");
  await page.getByLabel("Expected id").fill("f3");
  await page.getByRole("button", { name: "Recall", exact: true }).click();
  await page.getByText("It is superseded by f7").waitFor();
  const parts = await page.locator(".candidate").first().locator(".parts-bar").getAttribute("aria-label");
  assert.match(parts, /likeness \d\.\d\d, priority .* confidence/u);
  await page.getByRole("button", { name: "What was said" }).click();
  await page.getByRole("link", { name: "auth-service, turn 3", exact: true }).waitFor();
  await page.getByText("beyond limit").waitFor();
  await page.getByText("It is number 41. Others come first.").waitFor();
}));

test("costs are compared, requests are listed, sessions are found", () => withStory(async (page) => {
  await goTo(page, "cost/auth-service");
  await page.getByText("Rewriting each prompt").first().waitFor();
  assert.equal(await page.locator(".plot path").count(), 4);
  await page.getByRole("region", { name: "Cost by model" }).getByRole("row", { name: /^claude-sonnet-4-5 .*\$/u }).waitFor();
  await page.getByRole("region", { name: "Cost by model" }).getByRole("row", { name: /^qwen2\.5-coder-1\.5b .* – –$/u }).waitFor();
  await page.getByRole("region", { name: "Cost by project" }).getByRole("row", { name: /^github\.com\/acme\/shop /u }).waitFor();
  await goTo(page, "now");
  await page.getByText("1 waiting").waitFor();
  await page.getByText("cut off").waitFor();
  await goTo(page, "sessions");
  await page.getByLabel("Part of a name").fill("infra");
  await page.waitForFunction(() => document.querySelectorAll(".session-row").length === 1);
}));

for (const [width, theme] of /** @type {[number, string][]} */ ([[380, "dark"], [1280, "light"], [3840, "dark"]])) {
  test(`no screen scrolls sideways or has a barrier at ${width} pixels, ${theme}`, () => withStory(async (page) => {
    for (const screen of SCREENS) {
      await goTo(page, `${screen}${screen === "recall" ? "?q=staging&expect=f3" : ""}`);
      assert.equal(await overflow(page), 0, screen);
      assert.deepEqual(await violations(page), [], screen);
    }
  }, { viewport: { width, height: 900 }, colorScheme: theme }));
}
