// The keyboard, the themes, the sessions' switch, and the screens of an empty store.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { goTo, launch, SCREENS, settled, violations, withMock, withPage } from "./harness.js";

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test("the keyboard reaches every screen, every block and the list of keys", () => withMock("story", (mock) => withPage(browser, mock.url, async (page) => {
  await settled(page, "context");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Skip to the screen");
  for (const [key, screen] of [["t", "timeline"], ["e", "efforts"], ["r", "receipts"], ["o", "cost"], ["f", "recall"], ["m", "memories"], ["n", "now"], ["s", "sessions"], ["c", "context"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(String(key));
    await settled(page, String(screen));
  }
  await page.locator(".block-item").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".block-item[aria-current=true] .top").textContent(), "Preferences");
  assert.match(await page.evaluate(() => document.activeElement?.textContent ?? ""), /^Preferences/u);
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("follow the newest turn").waitFor();
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Escape");
  await page.keyboard.press("[");
  await page.getByText("Turn 199", { exact: true }).waitFor();
})));

test("a screen that is left while it loads ends without a trace", () => withMock("large", (mock) => withPage(browser, mock.url, async (page) => {
  for (let round = 0; round < 3; round += 1) {
    for (const screen of SCREENS) await page.evaluate((/** @type {string} */ hash) => (location.hash = hash), `#/${screen}`);
  }
  await goTo(page, "efforts/marathon");
  await page.locator(".link-state[data-state=live]").waitFor();
  await page.route("**/efforts?**", () => {});
  const reload = page.waitForRequest(/\/efforts\?/u);
  mock.world.tell("effort", { session: "marathon", turn: 1, seq: 1, at: 0, kind: "effort_expanded", ids: [] });
  await reload;
  await goTo(page, "context");
  await page.getByText("Turn 100,000", { exact: true }).waitFor();
})));

test("the theme is the system's until a person chooses, and then stays", () => withMock("story", (mock) => withPage(browser, mock.url, async (page) => {
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  await settled(page, "context");
  assert.equal(await theme(), "dark");
  await page.getByRole("button", { name: "Dark or light" }).click();
  assert.equal(await theme(), "light");
  await page.reload();
  await settled(page, "context");
  assert.equal(await theme(), "light");
}, { colorScheme: "dark" })));

test("another session is chosen by its name", () => withMock("story", (mock) => withPage(browser, mock.url, async (page) => {
  await goTo(page, "efforts/auth-service");
  await page.keyboard.press("s");
  await page.getByRole("dialog").getByLabel("Find").fill("doc");
  await page.getByRole("dialog").getByRole("link", { name: /docs-site/u }).click();
  await page.waitForURL(/#\/efforts\/docs-site/u);
  await settled(page, "efforts");
  assert.equal(await page.locator(".session-button .name").textContent(), "docs-site");
})));

test("an empty store teaches how it fills", () => withMock("empty", (mock) => withPage(browser, mock.url, async (page) => {
  for (const screen of SCREENS) {
    await goTo(page, screen);
    await page.locator(".empty").waitFor();
    assert.deepEqual(await violations(page), [], screen);
  }
})));
