// A session of several thousand turns in the real program: every screen opens, and any turn is near.

import { after, before, test } from "node:test";
import { drawsFewRows, scrollsAnywhere } from "./checks.js";
import { goTo, launch, SCREENS, settled, withPage } from "./harness.js";
import { SKIP, withServer } from "./neap.js";

const TURNS = 4_000;
const OLD = 777;
/** The API takes 256 messages a request. */
const TURNS_A_REQUEST = 128;

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** @param {import("./neap.js").Server["call"]} call */
async function addTurns(call) {
  for (let first = 1; first <= TURNS; first += TURNS_A_REQUEST) {
    const messages = Array.from({ length: Math.min(TURNS_A_REQUEST, TURNS + 1 - first) }, (_, index) => [
      { role: "user", content: `Question ${first + index} of the marathon` },
      { role: "assistant", content: `Answer ${first + index}` },
    ]).flat();
    await call("POST", "/sessions/marathon/messages", { messages }, { "idempotency-key": `from ${first}` });
  }
}

test("a session of thousands of turns opens, scrolls and goes back to any turn", { skip: SKIP }, () => withServer(() => {}, async (server) => {
  await addTurns(server.call);
  await withPage(browser, server.enter, async (page) => {
    await settled(page, "context");
    await page.getByText(`Turn ${TURNS.toLocaleString("en")}`, { exact: true }).waitFor();
    for (const screen of SCREENS) {
      await goTo(page, screen === "recall" ? `recall?q=question+${OLD}&in=talk` : screen);
      await drawsFewRows(page, screen);
    }
    await goTo(page, "timeline/marathon");
    await scrollsAnywhere(page, TURNS);
    await page.getByLabel("Turn number").fill(String(OLD));
    await page.getByLabel("Turn number").press("Enter");
    const turn = page.getByRole("region", { name: "The turn" });
    await turn.getByRole("heading", { name: `Turn ${OLD}`, exact: true }).waitFor();
    await turn.getByText(`Question ${OLD} of the marathon`, { exact: true }).waitFor();
    await turn.getByText(`Answer ${OLD}`, { exact: true }).waitFor();
    await page.locator(".turn-item[aria-current=true]", { hasText: `Question ${OLD} ` }).waitFor();
    await page.getByRole("slider").fill("2");
    await turn.getByText("Question 2 of the marathon", { exact: true }).waitFor();
    await goTo(page, `context/marathon?turn=${OLD}`);
    await page.locator(".block-item", { hasText: `Answer ${OLD}` }).waitFor();
    await page.getByRole("button", { name: "Live" }).click();
    server.record("One more question", "marathon");
    await page.getByText(`Turn ${(TURNS + 1).toLocaleString("en")}`, { exact: true }).waitFor();
  });
}));
