// A session of 100,000 turns: quick to open, and no list stalls.

import { after, before, test } from "node:test";
import { drawsFewRows, scrollsAnywhere } from "./checks.js";
import { goTo, launch, SCREENS, withMock, withPage } from "./harness.js";

const DRAG_STEPS = 8;

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test("every screen opens, and no list has more rows than are in view", () => withMock("large", (mock) => withPage(browser, mock.url, async (page) => {
  for (const screen of SCREENS) {
    await goTo(page, screen === "recall" ? "recall?q=staging" : screen);
    await drawsFewRows(page, screen);
  }
})));

test("the list of turns scrolls to any place, and each row is the turn it says", () => withMock("large", (mock) => withPage(browser, mock.url, async (page) => {
  await goTo(page, "timeline/marathon");
  await scrollsAnywhere(page, 100_000);
})));

test("a year-old turn is one step away", () => withMock("large", (mock) => withPage(browser, mock.url, async (page) => {
  await goTo(page, "timeline/marathon");
  await page.getByLabel("Turn number").fill("777");
  await page.getByLabel("Turn number").press("Enter");
  await page.getByRole("heading", { name: "Turn 777", exact: true }).waitFor();
  await page.locator(".turn-item[aria-current=true]", { hasText: "777" }).waitFor();
})));

test("a slider that is dragged rests at its turn, and the address names it", () => withMock("large", (mock) => withPage(browser, mock.url, async (page) => {
  await goTo(page, "timeline/marathon");
  const slider = await page.getByRole("slider").boundingBox();
  await page.mouse.move(slider.x + slider.width - 2, slider.y + slider.height / 2);
  await page.mouse.down();
  await page.mouse.move(slider.x + slider.width / 3, slider.y + slider.height / 2, { steps: DRAG_STEPS });
  await page.mouse.up();
  const turn = Number(await page.getByRole("slider").inputValue());
  await page.getByRole("heading", { name: `Turn ${turn}`, exact: true }).waitFor();
  await page.waitForURL((/** @type {URL} */ url) => url.hash.endsWith(`turn=${turn}`));
  await goTo(page, "sessions");
  await page.goBack();
  await page.getByRole("heading", { name: `Turn ${turn}`, exact: true }).waitFor();
})));

test("efforts come page by page while the list is scrolled", () => withMock("large", (mock) => withPage(browser, mock.url, async (page) => {
  await goTo(page, "efforts/marathon");
  const list = page.locator(".virtual").first();
  const length = () => list.evaluate((/** @type {HTMLElement} */ element) => element.scrollHeight);
  let before = await length();
  for (let page_ = 0; page_ < 3; page_ += 1) {
    await list.evaluate((/** @type {HTMLElement} */ element) => (element.scrollTop = element.scrollHeight));
    await page.waitForFunction((/** @type {number} */ height) => (document.querySelector(".virtual")?.scrollHeight ?? 0) > height, before);
    before = await length();
  }
})));
