// Lists that come page by page, and work that is gathered.

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { ApiError, change, get, pathOf } from "../../src/ui/assets/js/api.js";
import { EffortHistory } from "../../src/ui/assets/js/effort_history.js";
import { KeysetList, TurnWindow } from "../../src/ui/assets/js/keyset.js";
import { fetchSeries } from "../../src/ui/assets/js/changes_source.js";
import { gather } from "../../src/ui/assets/js/live.js";
import { answer } from "../mock/routes.js";
import { World } from "../mock/world.js";

const { signal } = new AbortController();
/** @type {string[]} */
let asked = [];
const realFetch = globalThis.fetch;

beforeEach(() => {
  asked = [];
  const world = new World("story");
  globalThis.fetch = /** @type {any} */ (async (/** @type {string} */ address, /** @type {RequestInit} */ options) => {
    asked.push(address);
    const { status, body } = answer(world, options.method ?? "GET", new URL(address, "http://localhost"), null);
    return new Response(JSON.stringify(body), { status });
  });
});

afterEach(() => {
  globalThis.fetch = realFetch;
});

test("a list fetches pages only as far as it is read, and each once", async () => {
  const list = new KeysetList("/sessions/auth-service/receipts", { limit: 10 }, signal);
  await Promise.all([list.reach(5), list.reach(8)]);
  assert.equal(asked.length, 1);
  await list.reach(11);
  assert.equal(asked.length, 2);
  await list.reach(10_000);
  assert.ok(list.isWhole);
  assert.equal(new Set(list.items.map((item) => `${item.of} ${item.turn}`)).size, list.items.length);
});

test("turns are fetched around any place", async () => {
  const window = new TurnWindow("/sessions/auth-service/turns", 200, signal);
  assert.ok(await window.reach(90, 110));
  assert.equal(asked.length, 2);
  for (let turn = 90; turn <= 110; turn += 1) assert.equal(window.rows.get(turn)?.turn, turn);
  assert.equal(await window.reach(101, 120), false);
});

test("a range of turns comes whole and in order", async () => {
  const rows = await fetchSeries("auth-service", 13, 187, signal);
  assert.deepEqual(rows.map((row) => row.turn), Array.from({ length: 175 }, (_, index) => index + 13));
});

test("the history of efforts is read only as far back as it must be", async () => {
  const history = new EffortHistory("/sessions/auth-service/changes", signal);
  assert.ok(await history.reach(["slow-search-4"]));
  const pages = asked.length;
  assert.equal(await history.reach(["slow-search-4"]), false);
  assert.equal(asked.length, pages);
  await history.reach(["refresh-token"]);
  const kinds = history.of("refresh-token").map((change) => change.kind);
  assert.deepEqual(kinds, ["effort_opened", "effort_concluded", "effort_expanded", "effort_collapsed", "summaries_evicted"]);
});

test("a refusal carries its reason and its hint", async () => {
  await assert.rejects(get("/sessions/nobody"), (error) => error instanceof ApiError && error.status === 404 && error.message.includes("nobody") && error.hint !== undefined);
  globalThis.fetch = /** @type {any} */ (async () => new Response("<html>", { status: 502 }));
  await assert.rejects(change("POST", "/memories"), (error) => error instanceof ApiError && error.status === 502);
  globalThis.fetch = /** @type {any} */ (async () => { throw new TypeError("refused"); });
  await assert.rejects(get("/jobs"), (error) => error instanceof ApiError && error.status === 0);
});

test("a path keeps what its parts contain", () => {
  assert.equal(pathOf("sessions", "a/b?c#d", "turns", 3), "/sessions/a%2Fb%3Fc%23d/turns/3");
});

test("work is gathered, never runs twice at a time, and runs again if it is wanted meanwhile", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  /** @type {(() => void)[]} */
  const ends = [];
  let running = 0;
  const act = gather(() => new Promise((resolve) => {
    running += 1;
    assert.equal(running, 1);
    ends.push(() => {
      running -= 1;
      resolve();
    });
  }), 100, signal);
  act();
  act();
  mock.timers.tick(100);
  assert.equal(ends.length, 1);
  act();
  mock.timers.tick(500);
  assert.equal(ends.length, 1);
  ends[0]?.();
  await new Promise((resolve) => setImmediate(resolve));
  mock.timers.tick(100);
  assert.equal(ends.length, 2);
  mock.timers.reset();
});
