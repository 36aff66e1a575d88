// The page beside an agent that has Neap's hooks: what a hook records shows by itself.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { agent } from "./agent.js";
import { goTo, launch, settled, showsInTime, withPage } from "./harness.js";
import { SKIP, withServer } from "./neap.js";

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test("a turn that an agent's hook records shows within a second", { skip: SKIP }, () => withServer(() => {}, (server) => withPage(browser, server.enter, async (page) => {
  const claude = agent(server.folder, "harbour");
  claude.asks("Which host is staging? <b>Look</b> it up.");
  claude.answers("Staging is the host pier-7.");
  await page.reload();
  await settled(page, "context");
  await page.locator(".session-button", { hasText: "claude-code-harbour" }).waitFor();
  await page.locator(".block-item", { hasText: "Staging is the host pier-7." }).waitFor();
  await page.locator(".link-state[data-state=live]").waitFor();
  await showsInTime(async (nth) => {
    claude.asks(`Ask number ${nth} of a person who watches.`);
    return page.locator(".block-item", { hasText: `Ask number ${nth} of` });
  });
  await showsInTime(async (nth) => {
    claude.answers(`Reply number ${nth} of the agent.`);
    return page.locator(".block-item", { hasText: `Reply number ${nth} of` });
  });
  await goTo(page, "timeline/claude-code-harbour?turn=1");
  const turn = page.getByRole("region", { name: "The turn" });
  await turn.getByText("Which host is staging? <b>Look</b> it up.").waitFor();
  await turn.getByText("Staging is the host pier-7.").waitFor();
  await goTo(page, "timeline/claude-code-harbour");
  await showsInTime(async (nth) => {
    claude.asks(`And on the timeline, ${nth}.`);
    return page.locator(".turn-item[aria-current=true]", { hasText: `And on the timeline, ${nth}.` });
  });
  assert.equal(server.run("hook", "--log").trim(), "no errors");
})));
