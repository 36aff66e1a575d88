// The page on the real program: every screen, a change, a live turn, and who is kept out.

import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { after, before, test } from "node:test";
import { goTo, launch, SCREENS, settled, showsInTime, violations, withPage } from "./harness.js";
import { SKIP, withNeap } from "./neap.js";

const TURNS = 30;

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** The status of a request that no browser made. @param {string} url @param {Record<string, string>} headers @returns {Promise<number | undefined>} */
function statusOf(url, headers, method = "GET") {
  return new Promise((resolve, reject) => {
    request(url, { method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on("error", reject).end();
  });
}

test("every screen shows a recorded session", { skip: SKIP }, () => withNeap(TURNS, (server) => withPage(browser, server.enter, async (page) => {
  await settled(page, "context");
  await page.getByText(`Turn ${TURNS}`, { exact: true }).waitFor();
  const sum = await page.evaluate(() => [...document.querySelectorAll(".bar-layer")].reduce((all, layer) => all + parseFloat(/** @type {HTMLElement} */ (layer).style.width), 0));
  assert.ok(sum > 5 && sum <= 100, String(sum));
  for (const screen of SCREENS) {
    await goTo(page, screen === "recall" ? "recall?q=which+postgresql+runs+staging" : screen);
    assert.equal(await page.getByRole("alert").count(), 0, screen);
    assert.deepEqual(await violations(page), [], screen);
  }
})));

test("an empty store teaches", { skip: SKIP }, () => withNeap(0, (server) => withPage(browser, server.enter, async (page) => {
  for (const screen of SCREENS) {
    await goTo(page, screen);
    await page.locator(".empty").waitFor();
  }
})));

test("an address of a session that is gone says so, and leads to all sessions", { skip: SKIP }, () => withNeap(1, (server) => withPage(browser, server.enter, async (page) => {
  for (const screen of ["context", "timeline", "efforts", "receipts", "cost"]) {
    await goTo(page, `${screen}/gone`);
    await page.getByRole("alert").getByText("there is no session 'gone'").waitFor();
    assert.deepEqual(await violations(page), [], screen);
    await page.getByRole("alert").getByRole("link", { name: "All sessions" }).click();
    await settled(page, "sessions");
  }
}, { prints: /status of 404/u })));

test("turns of the past are whole, and two prompts are compared", { skip: SKIP }, () => withNeap(TURNS, (server) => withPage(browser, server.enter, async (page) => {
  await goTo(page, "timeline/talk?turn=14&view=prompt");
  await page.getByText("── system ──").waitFor();
  await page.getByRole("button", { name: "Difference" }).click();
  await page.getByText("+ entered").first().waitFor();
})));

test("changes are the events that change prompts, and points are turns", { skip: SKIP }, () => withNeap(TURNS, (server) => withPage(browser, server.enter, async (page) => {
  const { events, changes, before, series, points } = await page.evaluate(async () => {
    const ask = async (/** @type {string} */ path) => (await (await fetch(`/api/v1/sessions/talk${path}`)).json()).items;
    return { events: await ask("/events?limit=200"), changes: await ask("/changes?limit=200"), before: await ask("/changes?before=13"), series: await ask("/series?limit=200"), points: await ask("/series?points=7") };
  });
  const kinds = /^(effort_(?!s_)|summaries_|span_|epoch_|memories_loaded)/u;
  const wanted = events.filter((/** @type {any} */ event) => kinds.test(event.event.type)).map((/** @type {any} */ { seq, event }) => [seq, event.type, event.turn]).reverse();
  assert.ok(wanted.length >= 5, JSON.stringify(events.slice(0, 3)));
  assert.deepEqual(changes.map((/** @type {any} */ change) => [change.seq, change.kind, change.turn]), wanted);
  assert.deepEqual(before, changes.filter((/** @type {any} */ change) => change.turn < 13));
  assert.deepEqual(points.map((/** @type {any} */ row) => row.turn), [30, 26, 22, 18, 13, 9, 5]);
  for (const point of points) assert.deepEqual(point, series.find((/** @type {any} */ row) => row.turn === point.turn));
})));

test("a memory is edited, the edit undone, and a memory forgotten", { skip: SKIP }, () => withNeap(1, (server) => withPage(browser, server.enter, async (page) => {
  await goTo(page, "memories");
  await page.locator(".item", { hasText: "PostgreSQL" }).click();
  const detail = page.getByRole("region", { name: "The chosen memory" });
  await detail.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("dialog").getByLabel("Fact", { exact: true }).fill("Staging runs PostgreSQL 17");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await detail.locator("dd").getByText("Staging runs PostgreSQL 17").waitFor();
  await detail.getByRole("button", { name: "Undo" }).click();
  await detail.locator("dd").getByText("Staging runs PostgreSQL 16").waitFor();
  const id = /^\S+/u.exec(await detail.getByRole("heading").first().textContent())?.[0] ?? "";
  await detail.getByRole("button", { name: "Forget" }).click();
  await page.getByRole("dialog").getByLabel(`Type ${id} to confirm`).fill(id);
  await page.getByRole("dialog").getByRole("button", { name: "Forget for good" }).click();
  await page.locator(".notices").getByText("is forgotten").waitFor();
  assert.ok(!server.run("memory", "list", "--json").includes("PostgreSQL 16"));
})));

test("an effort is expanded and a session erased", { skip: SKIP }, () => withNeap(TURNS, (server) => withPage(browser, server.enter, async (page) => {
  await goTo(page, "efforts/talk?effort=work-1");
  await page.getByRole("button", { name: "Expand" }).click();
  await page.locator(".effort-item", { hasText: "expanded" }).waitFor();
  await goTo(page, "sessions");
  await page.getByRole("button", { name: "Erase talk" }).click();
  await page.getByRole("dialog").getByLabel("Type talk to confirm").fill("talk");
  await page.getByRole("dialog").getByRole("button", { name: "Erase for good" }).click();
  await page.getByText("No session yet").waitFor();
})));

test("a turn that another program records shows within a second", { skip: SKIP }, () => withNeap(TURNS, (server) => withPage(browser, server.enter, async (page) => {
  await settled(page, "context");
  await page.locator(".link-state[data-state=live]").waitFor();
  await showsInTime(async (nth) => {
    server.record("And the staging host?");
    return page.getByText(`Turn ${TURNS + nth}`, { exact: true });
  });
})));

test("an old link, no cookie, a wrong host and another origin are refused", { skip: SKIP }, () => withNeap(1, async (server) => {
  await withPage(browser, server.enter, async (page) => {
    await settled(page, "context");
    const context = await browser.newContext();
    const stranger = await context.newPage();
    assert.equal((await stranger.goto(server.enter)).status(), 403);
    assert.equal((await stranger.goto(`${server.origin}/ui/`)).status(), 401);
    assert.equal((await stranger.goto(`${server.origin}/api/v1/sessions`)).status(), 401);
    await context.close();
    const [cookie] = await page.context().cookies();
    assert.ok(cookie.httpOnly && cookie.sameSite === "Strict");
    const own = { cookie: `${cookie.name}=${cookie.value}` };
    const sessions = `${server.origin}/api/v1/sessions`;
    assert.equal(await statusOf(sessions, own), 200);
    assert.equal(await statusOf(sessions, { ...own, host: "evil.example" }), 403);
    assert.equal(await statusOf(sessions, { ...own, origin: "https://evil.example" }), 403);
    assert.equal(await statusOf(`${sessions}/talk?confirm=talk`, own, "DELETE"), 403);
    assert.equal(await statusOf(sessions, own), 200);
  });
  await fromAnotherOrigin(server.origin);
}));

/** A page of another origin in the same browser can neither read nor change anything. @param {string} origin */
async function fromAnotherOrigin(origin) {
  const other = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<title>other</title>"));
  await new Promise((resolve) => other.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (other.address());
  try {
    await withPage(browser, `http://localhost:${port}/`, async (page) => {
      const outcome = await page.evaluate(async (/** @type {string} */ address) => {
        const outcomes = [];
        for (const method of ["GET", "DELETE"]) {
          try {
            outcomes.push((await fetch(`${address}/api/v1/sessions/talk?confirm=talk`, { method, credentials: "include" })).status);
          } catch {
            outcomes.push("refused");
          }
        }
        return outcomes;
      }, origin);
      assert.deepEqual(outcome, ["refused", "refused"]);
    }, { prints: /CORS policy|net::ERR_FAILED|status of 40/u });
  } finally {
    other.closeAllConnections();
    other.close();
  }
}
