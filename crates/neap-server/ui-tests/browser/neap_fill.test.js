// What was empty when a person opened it fills by itself, without the page being loaded again.

import { after, before, test } from "node:test";
import { agent } from "./agent.js";
import { goTo, launch, withPage } from "./harness.js";
import { SKIP, withServer } from "./neap.js";

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

for (const [screen, shows] of /** @type {[string, string][]} */ ([["context", ".block-item"], ["sessions", ".session-row"]])) {
  test(`an empty store's ${screen} shows an agent's first prompt`, { skip: SKIP }, () => withServer(() => {}, (server) => withPage(browser, server.enter, async (page) => {
    await goTo(page, screen);
    await page.getByText("No session yet").waitFor();
    await page.locator(".link-state[data-state=live]").waitFor();
    agent(server.folder, "first").asks("The very first words of this store.");
    await page.locator(shows, { hasText: /claude-code-first|The very first words/u }).waitFor();
  })));
}

/** Screens of a session without turns, what happens there, and what shows then. @type {[string, (server: import("./neap.js").Server, session: string) => Promise<void> | void, string][]} */
const FIRSTS = [
  ["context", ({ record }, session) => record("First words", session), ".block-item:has-text('First words')"],
  ["timeline", ({ record }, session) => record("First words", session), ".turn-item:has-text('First words')"],
  ["efforts", ({ call }, session) => call("POST", `/sessions/${session}/efforts`, { name: "first work" }), ".effort-item:has-text('first work')"],
  ["receipts", ({ call }, session) => concludeOne(call, session), ".effort-item:has-text('first-work')"],
  ["cost", ({ record }, session) => record("First words", session), ".figure:has-text('Spent')"],
];

test("a session's screens show the first that happens in it", { skip: SKIP }, () => withServer(() => {}, (server) => withPage(browser, server.enter, async (page) => {
  for (const [screen, happen, shows] of FIRSTS) {
    await server.call("PUT", `/sessions/new-${screen}`, {});
    await goTo(page, `${screen}/new-${screen}`);
    await page.locator(".empty").waitFor();
    await page.locator(".link-state[data-state=live]").waitFor();
    await happen(server, `new-${screen}`);
    await page.locator(shows).first().waitFor();
  }
  // The context asks for a turn that is not there.
}, { prints: /status of 404/u })));

/** @param {import("./neap.js").Server["call"]} call @param {string} session */
async function concludeOne(call, session) {
  await call("POST", `/sessions/${session}/efforts`, { name: "first work" });
  await call("PUT", `/sessions/${session}/turns/one`, { message: "Port 8443 is open.", reply: "So is 8444." });
  await call("POST", `/sessions/${session}/efforts/first-work/conclude`);
}
