// Nobody meets a barrier: axe finds none on any screen or dialog of the real program, at any width, in both themes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { goTo, launch, overflow, SCREENS, violations, withPage } from "./harness.js";
import { SKIP, withNeap } from "./neap.js";

const TURNS = 30;
/** @type {[number, string[]][]} */
const LOOKS = [[380, ["dark", "light"]], [1280, ["dark", "light"]], [2560, ["light"]]];
/** A theme changes colours alone. */
const COLOURS = ["color-contrast", "link-in-text-block"];
/** Screens of a session are alike while there is none. */
const EMPTY_SCREENS = ["context", "recall", "memories", "now", "sessions"];

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** In every width and theme. @param {any} page @param {string} place @param {string} [within] */
async function hasNoBarrier(page, place, within) {
  for (const [width, themes] of LOOKS) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      // What depends on the width is drawn anew a frame later.
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      const rules = colorScheme === "dark" ? { rules: COLOURS } : {};
      assert.deepEqual(await violations(page, { within, ...rules }), [], `${place} at ${width} pixels, ${colorScheme}`);
    }
    assert.equal(await overflow(page), 0, `${place} at ${width} pixels`);
  }
}

test("no screen of a recorded session has a barrier", { skip: SKIP }, () => withNeap(TURNS, (server) => withPage(browser, server.enter, async (page) => {
  for (const screen of SCREENS) {
    await goTo(page, screen === "recall" ? "recall?q=which+postgresql+runs+staging&expect=f1" : screen);
    await hasNoBarrier(page, screen);
  }
})));

test("no screen of an empty store has a barrier", { skip: SKIP }, () => withNeap(0, (server) => withPage(browser, server.enter, async (page) => {
  for (const screen of EMPTY_SCREENS) {
    await goTo(page, screen);
    await hasNoBarrier(page, screen, "main");
  }
})));

test("no dialog has a barrier", { skip: SKIP }, () => withNeap(1, (server) => withPage(browser, server.enter, async (page) => {
  const memory = page.getByRole("region", { name: "The chosen memory" });
  for (const [place, opener] of [
    ["memories", memory.getByRole("button", { name: "Edit" })],
    ["memories", memory.getByRole("button", { name: "Forget" })],
    ["sessions", page.getByRole("button", { name: "Erase talk" })],
  ]) {
    await goTo(page, place);
    await opener.click();
    const dialog = page.getByRole("dialog");
    await hasNoBarrier(page, await dialog.getByRole("heading").first().textContent(), "dialog");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
})));
