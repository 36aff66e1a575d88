// What the page computes from the API's answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../src/ui/assets/js/api.js";
import { withHeads } from "../../src/ui/assets/js/block_list.js";
import { changesOfTurn, changeText, laneOf } from "../../src/ui/assets/js/changes.js";
import { costPoints, pricesOf } from "../../src/ui/assets/js/cost_model.js";
import { promptText, runs } from "../../src/ui/assets/js/diff_view.js";
import { rangeOf, stretches } from "../../src/ui/assets/js/effort_lane.js";
import { byTurn } from "../../src/ui/assets/js/lanes.js";
import { blockTitle, groupTokens, layerRank } from "../../src/ui/assets/js/layers.js";
import { asText, asValue } from "../../src/ui/assets/js/memory_edit.js";
import { marks, memoryLine } from "../../src/ui/assets/js/memory_text.js";
import { niceTop, xTicks } from "../../src/ui/assets/js/plot.js";
import { fateOf } from "../../src/ui/assets/js/recall_rows.js";
import { composition, scaledBlocks } from "../../src/ui/assets/js/prompt_source.js";
import { totalOf } from "../../src/ui/assets/js/receipt_detail.js";
import { blocks } from "../mock/prompt.js";
import { changesOf, effortRows, efforts, seriesRow } from "../mock/session.js";
import { Memories } from "../mock/memories.js";
import { forSeeds } from "./random.js";

test("groups add up to the layers, in the order of the context", () => {
  forSeeds(100, (random) => {
    const { tokens } = seriesRow(1 + random.int(1000));
    const layers = /** @type {Record<string, number>} */ (tokens);
    const total = Object.values(layers).reduce((sum, value) => sum + value, 0);
    assert.equal(groupTokens(layers).reduce((sum, each) => sum + each.tokens, 0), total);
  });
  assert.ok(layerRank("protocol") < layerRank("tail") && layerRank("tail") < layerRank("message"));
  assert.ok(layerRank("unheard of") > layerRank("message"));
});

test("a layer of several blocks has a head with their sum, and no block is lost", () => {
  forSeeds(50, (random) => {
    const all = blocks(1 + random.int(300));
    const rows = withHeads(all);
    assert.deepEqual(rows.filter((row) => "block" in row), all);
    for (const row of rows) {
      if ("block" in row) continue;
      const inside = all.filter((block) => block.layer === row.layer);
      assert.ok(inside.length > 1);
      assert.equal(row.tokens, inside.reduce((sum, block) => sum + block.tokens, 0));
    }
  });
});

test("blocks are named by what they are", () => {
  assert.equal(blockTitle({ layer: "summaries", role: "user", turn: 9, effort: "auth" }), "Summary of auth");
  assert.equal(blockTitle({ layer: "tail", role: "tool", turn: 9, effort: null }), "Turn 9, tool");
  assert.equal(blockTitle({ layer: "tail", role: "assistant" }), "Tail, assistant");
  assert.equal(blockTitle({ layer: "protocol", role: "system", turn: null, effort: null }), "Rules");
});

test("blocks are scaled to what their layer had when it was sent", () => {
  forSeeds(50, (random) => {
    const turn = 1 + random.int(300);
    const all = blocks(turn);
    const layers = Object.fromEntries([...new Set(all.map((block) => block.layer))].map((layer) => [layer, random.int(5_000)]));
    const scaled = scaledBlocks(/** @type {Api.Prompt} */ (/** @type {unknown} */ ({ kind: "assembled", blocks: all })), layers);
    for (const [layer, tokens] of Object.entries(layers)) {
      const sum = scaled.filter((block) => block.layer === layer).reduce((total, block) => total + block.tokens, 0);
      assert.ok(Math.abs(sum - tokens) < 1e-6, layer);
    }
  });
});

test("a client's request is what was forwarded of what was received", () => {
  const account = { class: "tool_loop", tokens_in: 900, tokens_sent: 300, changes: 1, epoch: 1, is_whole: true, used: { input: 400, cached: 100, output: 5 } };
  const prompt = /** @type {Api.Prompt} */ (/** @type {unknown} */ ({ kind: "forwarded", requests: [{ ...account, tokens_sent: 1 }, account], blocks: [], layers: [], budget: null, tokens_total: null, cached_tokens: null }));
  assert.deepEqual(composition(prompt, null), { layers: { forwarded: 300 }, used: 300, whole: 900, cached: 75, account });
  assert.deepEqual(scaledBlocks(prompt, {}), []);
});

test("a prompt's page has every block once, under its role", () => {
  const list = [["system", "a"], ["system", "b\n"], ["user", "c"]].map(([role, text], block) => ({ block, role: String(role), text: String(text), chars: 1, layer: "tail", tokens: 1, why: "", turn: null, effort: null, cached: false }));
  const prompt = /** @type {Api.Prompt} */ (/** @type {unknown} */ ({ blocks: list }));
  assert.equal(promptText(prompt), "── system ──\na\nb\n\n\n── user ──\nc");
});

test("blocks that two prompts share are folded, those that differ are not", () => {
  const block = (/** @type {Api.DiffBlock["change"]} */ change) => ({ change, layer: "tail", role: "user", tokens: 1, text: "", block: 0 });
  const folded = runs([block("same"), block("same"), block("added"), block("added"), block("same")]);
  assert.deepEqual(folded.map((run) => [run.change, run.blocks.length]), [["same", 2], ["added", 1], ["added", 1], ["same", 1]]);
});

test("every event that changes a prompt has a lane and words", () => {
  for (let turn = 1; turn < 300; turn += 1) {
    for (const change of changesOf(turn)) {
      assert.ok(laneOf(change.kind), change.kind);
      assert.ok(!changeText(change).includes("undefined"), changeText(change));
    }
  }
  assert.equal(laneOf("turn_completed"), null);
  assert.equal(laneOf("constructor"), null);
  const decayed = { turn: 1, seq: 1, at: 0, kind: "effort_collapsed", ids: ["auth"], cause: { decayed: { inactive_turns: 5 } }, tokens: 1200 };
  assert.equal(changeText(decayed), "auth collapsed to its summary (nothing referred to it for 5 turns), 1,200 tokens");
});

test("a turn's own events become changes with their ids", () => {
  const happened = [{ type: "effort_expanded", id: "auth", tokens_loaded: 40 }, { type: "summaries_evicted", ids: ["a", "b"] }, { type: "message_added" }, { type: "memories_loaded", loaded: { cause: "first", items: [{ id: "f7" }] } }];
  const turn = /** @type {Api.Turn} */ (/** @type {unknown} */ ({ turn: 3, happened }));
  assert.deepEqual(changesOfTurn(turn).map((change) => [change.kind, change.ids, change.tokens]), [["effort_expanded", ["auth"], 40], ["summaries_evicted", ["a", "b"], null], ["memories_loaded", ["f7"], null]]);
});

test("a lane has each change in its turn", () => {
  const changes = Array.from({ length: 100 }, (_, index) => changesOf(index + 1)).flat();
  const all = /** @type {const} */ (["entered", "left", "rewritten"]).flatMap((lane) => [...byTurn(changes, lane).values()].flat());
  assert.equal(all.length, changes.length);
});

test("an effort's phases follow each other without a gap", () => {
  const turns = 200;
  const changes = Array.from({ length: turns }, (_, index) => changesOf(index + 1)).flat();
  for (const { effort, turns: { opened } } of effortRows(turns)) {
    const own = changes.filter((change) => change.ids?.includes(effort.id));
    const parts = stretches(effort, own, turns);
    assert.equal(parts[0]?.phase, "open");
    assert.equal(parts[0]?.from, opened);
    assert.equal(parts.at(-1)?.to, turns);
    parts.slice(1).forEach((part, index) => assert.equal(part.from, parts[index]?.to));
    const last = { active: "open", shown: "summary", expanded: "expanded", evicted: "evicted" }[effort.place];
    assert.equal(parts.at(-1)?.phase, last, effort.id);
    const { from, to } = rangeOf([parts], turns);
    assert.ok(from <= opened && to <= turns && from < to);
  }
});

test("without its changes, an effort's phases are guessed from its last turn", () => {
  const effort = /** @type {Api.Effort} */ ({ ...efforts(200)[3], exchanges: 4, last_referenced_turn: 9 });
  assert.deepEqual(stretches(effort, [], 20), [{ phase: "open", from: 5, to: 9 }, { phase: "summary", from: 9, to: 20 }]);
});

test("money is summed by the provider's prices", () => {
  const prices = pricesOf({ price_cache_read_cents: 30, price_cache_write_cents: 375, price_output_cents: 1500 });
  assert.ok(prices);
  const row = (/** @type {number} */ turn, /** @type {number} */ naive) => ({ ...seriesRow(turn), naive_tokens: naive, cost: { calls: 1, sent: 1_000_000, cached: 500_000, output: 0, nanodollars: 2_000_000_000 } });
  const points = costPoints([row(1, 1_000_000), row(2, 2_000_000)], prices);
  // 1 M written at 3.75; then 1 M read at 0.30 and 1 M written.
  assert.deepEqual(points.map((point) => [point.spent, point.untouched?.toFixed(6), point.rewriting?.toFixed(6), point.cachedShare]), [[2, "3.750000", "3.750000", 50], [4, "7.800000", "7.500000", 50]]);
  assert.equal(pricesOf({}), null);
  assert.equal(costPoints([row(1, 5)], null)[0]?.untouched, null);
  const later = costPoints([row(9, 2_000_000)], prices, 1_000_000);
  assert.equal(later[0]?.untouched?.toFixed(6), "4.050000");
});

test("a proxied turn costs what its requests cost", () => {
  const account = { class: "main_turn", tokens_in: 1, tokens_sent: 1, changes: 0, epoch: 0, is_whole: true, used: { input: 100, cached: 25, output: 1 }, cost: { sent_nanodollars: 1e9, untouched_nanodollars: 3e9 } };
  const [point] = costPoints([{ ...seriesRow(1), cost: null, requests: [account, account] }], null);
  assert.deepEqual(point, { turn: 1, cachedShare: 25, spent: 2, untouched: 6, rewriting: null });
});

test("an axis ends at or above its largest value, and its ticks lie on it", () => {
  forSeeds(300, (random) => {
    const value = (1 + random.int(9_999)) / 10 ** random.int(7);
    const top = niceTop(value);
    assert.ok(top >= value * 0.999999 && top <= value * 2.01, `${value}: ${top}`);
    const low = 1 + random.int(1000);
    const high = low + 1 + random.int(100_000);
    const ticks = xTicks(low, high, 6);
    assert.ok(ticks.length >= 1 && ticks.length <= 13, `${low}-${high}: ${ticks}`);
    assert.ok(ticks.every((tick) => tick >= low && tick <= high));
  });
});

test("an expected memory is found at the stage that dropped it", async () => {
  const store = new Memories("story");
  const answer = /** @type {Api.Question} */ (/** @type {unknown} */ ({ candidates: store.candidates("which postgresql runs on staging").filter((each) => each.id !== "c1" && each.id !== "p1") }));
  const fetchMemory = async (/** @type {string} */ id) => {
    const found = store.current.get(id);
    if (!found) throw new ApiError(404, "no");
    return found;
  };
  const stage = async (/** @type {string} */ id) => (await fateOf(id, answer, fetchMemory)).stage;
  assert.equal(await stage("f7"), "loaded");
  assert.equal(await stage("f3"), "not in force");
  assert.equal(await stage("c1"), "always loaded");
  assert.equal(await stage("p1"), "not proposed");
  assert.equal(await stage("f99"), "not stored");
  await assert.rejects(fateOf("f99", answer, async () => { throw new ApiError(500, "broken"); }));
});

test("an edited field comes back as it was written", () => {
  for (const value of [["a", "b"], []]) assert.deepEqual(asValue(asText(value, "list"), "list"), value);
  assert.equal(asValue(asText(0.7, "number"), "number"), 0.7);
  assert.equal(asValue("  ", "line"), null);
  assert.equal(asValue("", "number"), null);
});

test("every kind of memory has a line", () => {
  for (const memory of new Memories("story").current.values()) {
    assert.ok(memoryLine(memory).length > 5);
    assert.ok(!memoryLine(memory).includes("undefined"), memoryLine(memory));
  }
  const asked = [...new Memories("story").current.values()].filter((memory) => marks(memory).some(([, text]) => text === "to be forgotten?"));
  assert.deepEqual(asked.map((memory) => memory.id), ["f15"]);
});

test("a receipt's total is the sum of its kinds", () => {
  const tally = { found: 3, retained: 1, recoverable: 1, missing: 1 };
  assert.deepEqual(totalOf({ kinds: { number: tally, date: tally } }), { found: 6, retained: 2, recoverable: 2, missing: 2 });
  assert.deepEqual(totalOf(undefined), { found: 0, retained: 0, recoverable: 0, missing: 0 });
});
