// What a person changes, and what changes while a person looks.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { goTo, launch, settled, showsInTime, withMock, withPage } from "./harness.js";

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** @param {(page: any, mock: any) => Promise<void>} check */
const withStory = (check, options = {}) => withMock("story", (mock) => withPage(browser, mock.url, (page) => check(page, mock), options));

test("a memory is edited, and the edit undone", () => withStory(async (page, mock) => {
  await goTo(page, "memories?id=f7");
  const detail = page.getByRole("region", { name: "The chosen memory" });
  await detail.getByRole("button", { name: "Edit" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Fact", { exact: true }).fill("Staging runs PostgreSQL 17 <b>now</b>");
  await dialog.getByRole("button", { name: "Save" }).click();
  await detail.locator("dd").getByText("Staging runs PostgreSQL 17 <b>now</b>", { exact: true }).waitFor();
  assert.equal(mock.world.memories.current.get("f7").body.content, "Staging runs PostgreSQL 17 <b>now</b>");
  assert.equal(mock.world.memories.current.get("f7").body.subject, "staging");
  await detail.getByText("edited").waitFor();
  await page.locator(".notices").getByRole("button", { name: "Undo" }).click();
  await detail.locator("dd").getByText("Staging runs PostgreSQL 16", { exact: true }).waitFor();
  assert.equal(mock.world.memories.current.get("f7").body.content, "Staging runs PostgreSQL 16");
}));

test("a memory is retired, its chain followed, and one forgotten after its name is typed", () => withStory(async (page, mock) => {
  await goTo(page, "memories?id=f7");
  const detail = page.getByRole("region", { name: "The chosen memory" });
  await detail.getByRole("button", { name: "f3" }).click();
  await page.getByRole("heading", { name: "f3 · fact" }).waitFor();
  await page.locator(".item", { hasText: "p1" }).first().click();
  await detail.getByRole("button", { name: "Retire" }).click();
  await detail.getByText("retired").first().waitFor();
  await goTo(page, "memories?id=f7");
  await page.getByRole("heading", { name: "f7 · fact" }).waitFor();
  await detail.getByRole("button", { name: "Forget" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("d2").waitFor();
  const forget = dialog.getByRole("button", { name: "Forget for good" });
  assert.ok(await forget.isDisabled());
  await dialog.getByLabel("Type f7 to confirm").fill("f7");
  await forget.click();
  await page.getByText("f7 is forgotten").waitFor();
  assert.equal(mock.world.memories.current.has("f7"), false);
}));

test("filters narrow the list and stay in the address", () => withStory(async (page) => {
  await goTo(page, "memories");
  await page.getByLabel("Author").selectOption("model");
  await page.waitForFunction(() => [...document.querySelectorAll(".virtual-row .below")].every((row) => row.textContent?.includes("a model")));
  assert.match(page.url(), /author=model/u);
  await page.getByLabel("Words").fill("nothing has these words");
  await page.getByText("No memory fits").waitFor();
}));

test("a session is erased only after its name is typed", () => withStory(async (page, mock) => {
  await goTo(page, "sessions");
  await page.getByRole("button", { name: "Erase infra" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("has 84 turns and 7 efforts").waitFor();
  await dialog.getByLabel("Type infra to confirm").fill("infr");
  assert.ok(await dialog.getByRole("button", { name: "Erase for good" }).isDisabled());
  await dialog.getByLabel("Type infra to confirm").fill("infra");
  await dialog.getByRole("button", { name: "Erase for good" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".session-row").length === 2);
  assert.equal(mock.world.sessions.has("infra"), false);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export docs-site" }).click()]);
  assert.equal(download.suggestedFilename(), "docs-site.jsonl");
}));

test("a refusal is told in the server's words", () => withStory(async (page, mock) => {
  await goTo(page, "efforts/auth-service");
  await page.locator(".effort-item", { hasText: "refresh token 4" }).click();
  await page.getByRole("button", { name: "Reopen" }).waitFor();
  mock.world.refusal = "two efforts cannot be active";
  await page.getByRole("button", { name: "Reopen" }).click();
  await page.locator(".notices").getByText("two efforts cannot be active").waitFor();
}, { prints: /status of 422/u }));

test("the bar, the requests and the costs move within a second of a turn", () => withStory(async (page, mock) => {
  await settled(page, "context");
  await page.locator(".link-state[data-state=live]").waitFor();
  await page.getByText("Turn 200", { exact: true }).waitFor();
  const width = await page.locator(".bar-layer.fill-tail").evaluate((/** @type {HTMLElement} */ layer) => layer.style.width);
  await showsInTime(async (nth) => {
    mock.world.advance("auth-service");
    return page.getByText(`Turn ${200 + nth}`, { exact: true });
  });
  assert.notEqual(await page.locator(".bar-layer.fill-tail").evaluate((/** @type {HTMLElement} */ layer) => layer.style.width), width);
  await goTo(page, "now");
  const before = await page.locator(".figure.lead dd").textContent();
  const requests = Number.parseInt(before ?? "", 10);
  assert.ok(requests >= 25);
  await showsInTime(async (nth) => {
    mock.world.advance("auth-service");
    return page.locator(".figure.lead dd", { hasText: new RegExp(`^${requests + nth}`, "u") });
  });
}));

test("a turn of the past does not move", () => withStory(async (page, mock) => {
  await goTo(page, "context/auth-service?turn=120");
  await page.getByText("Turn 120", { exact: true }).waitFor();
  await page.locator(".link-state[data-state=live]").waitFor();
  mock.world.advance("auth-service");
  await page.getByRole("button", { name: "Live" }).click();
  await page.getByText("Turn 201", { exact: true }).waitFor();
}));
