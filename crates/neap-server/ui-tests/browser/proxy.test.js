// The page beside the proxy: what passes shows within a second.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { goTo, launch, settled, showsInTime, violations, withPage } from "./harness.js";
import { SKIP, withProxy } from "./neap.js";

/** @type {any} */
let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** A provider that always gives the same answer. @param {(url: string) => Promise<void>} check */
async function withProvider(check) {
  const answer = {
    id: "c1", object: "chat.completion", created: 1, model: "gpt-4o", choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Noted." } }],
    usage: { prompt_tokens: 60, completion_tokens: 3, total_tokens: 63, prompt_tokens_details: { cached_tokens: 0 } },
  };
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  try {
    await check(`http://127.0.0.1:${port}/v1`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("a proxied request shows within a second, and its turn in the context", { skip: SKIP }, () => withProvider((upstream) => withProxy(upstream, async ({ origin, token }) => {
  /** @type {{ role: string, content: string }[]} */
  const messages = [];
  const say = async (/** @type {string} */ content) => {
    messages.push({ role: "user", content });
    const response = await fetch(`${origin}/v1/chat/completions`, {
      method: "POST", headers: { "content-type": "application/json", authorization: "Bearer sk-test" }, body: JSON.stringify({ model: "gpt-4o", messages }),
    });
    assert.equal(response.status, 200);
    const { choices: [{ message }] } = /** @type {any} */ (await response.json());
    messages.push(message);
  };
  await withPage(browser, `${origin}/ui/#/now`, async (page) => {
    await settled(page, "now");
    await page.getByText("Nothing has passed yet").waitFor();
    await page.locator(".link-state[data-state=live]").waitFor();
    await showsInTime(async (nth) => {
      await say(`The staging host is called harbour, remember that please (${nth}).`);
      return page.locator(".figure.lead dd", { hasText: new RegExp(`^${nth}`, "u") });
    });
    await say("And the production host is called pier.");
    await page.locator(".virtual-row").nth(1).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.locator(".virtual-row a").first().click();
    await settled(page, "context");
    await page.getByText("And the production host is called pier.").first().waitFor();
    await showsInTime(async (nth) => {
      await say(`Which one is staging (${nth})?`);
      return page.getByText(`Which one is staging (${nth})?`).first();
    });
    assert.match(await page.locator(".figure.lead").textContent(), /^Forwarded\d+ of \d+ tokens received$/u);
    assert.ok((await page.locator(".bar-layer").evaluate((/** @type {HTMLElement} */ layer) => parseFloat(layer.style.width))) > 90);
    assert.deepEqual(await violations(page), []);
    await goTo(page, "timeline");
    await page.getByText("received from the client").waitFor();
    assert.match(await page.locator(".line-area").getAttribute("d"), /^M[\d. ]+L/u);
  }, { extraHTTPHeaders: { authorization: `Bearer ${token}` } });
})));
