/** OpenClaw's context engine by its contract; `hosts/openclaw.test.ts` has it in OpenClaw itself. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";

import { NeapError } from "neap";
import plugin, { type AgentMessage, type ContextEngine, contextEngine } from "neap/openclaw";

import { Sessions } from "../dist/host/sessions.js";
import { folderFor, later, PACKAGE, PROGRAM, start } from "./support.js";

const BUDGET = 2000;
const CODE = "7319-KESTREL";
const SESSION = { sessionId: "one", sessionKey: "agent:main:main" };

interface Text extends AgentMessage {
  role: string;
  content: string | Array<Record<string, unknown>>;
  timestamp: number;
}

const say = (role: string, content: Text["content"], turn: number): Text => ({ role, content, timestamp: turn * 1000 });
const bytes = (messages: readonly Text[]): number => Buffer.byteLength(messages.map((one) => one.content).join(""));
const texts = (messages: readonly Text[]): string => messages.map((one) => JSON.stringify(one.content)).join("\n");
const key = (turn: number): string => `advance-${turn}`;

/** A turn as OpenClaw commits it: its user message has the key of the advancement. */
function turnOf(turn: number, asked = `tell me about part ${turn} of the machine`): Text[] {
  const begun = { ...say("user", asked, turn), idempotencyKey: `${key(turn)}:user` };
  const reply = `Part ${turn} is a lever that moves a wheel. `.repeat(8);
  return [begun, say("assistant", [{ type: "text", text: reply }], turn)];
}

async function engineFor(t: TestContext) {
  const started = await start(t);
  const make = (): ContextEngine<Text> => contextEngine<Text>({ neap: started.neap, budget: BUDGET, author: "person" });
  return { ...started, make, engine: make() };
}

test("100 turns are bounded, remembered and recorded once", async (t) => {
  const { neap, engine: first, make } = await engineFor(t);
  let engine = first;
  await engine.bootstrap(SESSION);
  const history: Text[] = [];
  const epochs = new Set<string>();
  let shown: Text[] = [];
  for (let turn = 1; turn <= 100; turn += 1) {
    if (turn === 40) process.kill(neap.serverPid ?? 0, "SIGKILL");
    if (turn === 60) engine = make();
    const asked = turn === 3 ? `the vault code of the depot is ${CODE}` : undefined;
    const messages = turn === 100 ? [say("user", "what is the vault code of the depot?", 100)] : turnOf(turn, asked);
    const prompt = String(messages[0]?.content);
    const view = await engine.assemble({ ...SESSION, messages: [...history], prompt, tokenBudget: 8000 });
    assert.ok(bytes(view.messages) <= BUDGET * 3 && view.estimatedTokens <= BUDGET);
    epochs.add(view.contextProjection.epoch);
    shown = view.messages;
    for (const status of ["committed", "duplicate"]) {
      assert.deepEqual(await engine.commitTurn({ ...SESSION, advancementKey: key(turn), messages }), { status });
      if (turn !== 60) break;
    }
    history.push(...messages);
  }
  assert.ok(texts(shown).includes(CODE));
  assert.ok(epochs.size > 3 && epochs.size < 40, `${epochs.size} epochs`);
  assert.equal((await neap.showSession("openclaw-one")).turns, 100);
});

test("an epoch changes when its beginning does, and not before", async (t) => {
  const { engine } = await engineFor(t);
  const history: Text[] = [];
  let before: { epoch: string; messages: string[] } | undefined;
  for (let turn = 1; turn <= 40; turn += 1) {
    const view = await engine.assemble({ ...SESSION, messages: [...history], prompt: `part ${turn}` });
    const messages = view.messages
      .filter((one) => !String(one.content).startsWith("§[Said"))
      .map((one) => JSON.stringify(one));
    const { epoch } = view.contextProjection;
    if (before?.epoch === epoch) assert.deepEqual(messages.slice(0, before.messages.length), before.messages);
    before = { epoch, messages: messages.slice(0, -1) };
    history.push(...turnOf(turn));
  }
});

test("a page that comes back within a turn is not taken for somebody's words", async (t) => {
  const { neap, engine } = await engineFor(t);
  const history = Array.from({ length: 40 }, (_, at) => turnOf(at + 1)).flat();
  const first = await engine.assemble({ ...SESSION, messages: history, prompt: "part 7?" });
  assert.ok(texts(first.messages).includes("§["));
  const again = await engine.assemble({ ...SESSION, messages: first.messages, prompt: "part 7?" });
  assert.deepEqual(again.messages, first.messages);
  assert.equal((await neap.showSession("openclaw-one")).turns, 40);
});

test("what a turn adds is taken from the budget of its history", async (t) => {
  const { engine } = await engineFor(t);
  const history = Array.from({ length: 40 }, (_, at) => turnOf(at + 1)).flat();
  const ask = { ...SESSION, messages: history, prompt: "part 7?" };
  const limits = (promptTokenBudget: number) => ({ runtimeSettings: { limits: { promptTokenBudget } } });
  await engine.assemble({ ...ask, tokenBudget: 1900, ...limits(1900) });
  const later = await engine.assemble({ ...ask, tokenBudget: 14_800, ...limits(16_000) });
  assert.ok(later.estimatedTokens <= 700, `${later.estimatedTokens} tokens`);
});

test("compaction makes the next context half as large, and loses nothing", async (t) => {
  const { neap, engine } = await engineFor(t);
  assert.equal((await engine.compact(SESSION)).compacted, false);
  const history = Array.from({ length: 40 }, (_, at) => turnOf(at + 1)).flat();
  const before = await engine.assemble({ ...SESSION, messages: history, prompt: "part 7?" });
  const done = await engine.compact({ ...SESSION, currentTokenCount: 9000 });
  assert.deepEqual([done.ok, done.compacted, done.result?.tokensBefore], [true, true, 9000]);
  const after = await engine.assemble({ ...SESSION, messages: history, prompt: "part 7?" });
  assert.ok(after.estimatedTokens <= Math.max(1024, before.estimatedTokens / 2));
  assert.notEqual(after.contextProjection.epoch, before.contextProjection.epoch);
  assert.equal((await neap.showSession("openclaw-one")).turns, 40);
  // It grows again up to its budget.
  let most = 0;
  for (let turn = 41; turn <= 50; turn += 1) {
    history.push(...turnOf(turn));
    const grown = await engine.assemble({ ...SESSION, messages: history, prompt: `and part ${turn}?` });
    most = Math.max(most, grown.estimatedTokens);
  }
  assert.ok(most > 1200 && most <= BUDGET, `${most} tokens`);
});

test("a run that is not committed is recorded when its turn is over", async (t) => {
  const { neap, engine } = await engineFor(t);
  const call = { type: "toolCall", id: "c1", name: "gauge", arguments: { of: "steam" } };
  const messages: Text[] = [
    say("user", "read the gauge", 1),
    say("assistant", [call], 1),
    { ...say("toolResult", [{ type: "text", text: "17 bar" }], 1), toolCallId: "c1" } as Text,
  ];
  await engine.afterTurn({ ...SESSION, messages });
  assert.deepEqual((await neap.listSessions()).items, []);
  messages.push(say("assistant", [{ type: "text", text: "It reads 17 bar." }], 1));
  for (const _ of ["once", "again"]) await engine.afterTurn({ ...SESSION, messages });
  const original = await neap.showOriginal("openclaw-one", "t1");
  assert.deepEqual(
    original.messages?.map((message) => message.role),
    ["user", "assistant", "tool", "assistant"],
  );
  assert.equal((await neap.showSession("openclaw-one")).turns, 1);
});

test("of many sessions those that were used last are known", () => {
  let made = 0;
  const sessions = new Sessions(() => (made += 1));
  for (let number = 0; number < 1000; number += 1) sessions.of(`session ${number}`);
  assert.equal(sessions.of("session 0"), 1);
  sessions.of("one more");
  assert.equal(sessions.of("session 0"), 1);
  assert.equal(sessions.of("session 1"), 1002);
});

test("the plugin takes what its manifest says", async (t) => {
  const manifest = JSON.parse(readFileSync(join(PACKAGE, "openclaw.plugin.json"), "utf8")) as {
    id: string;
    kind: string;
    configSchema: { properties: Record<string, unknown> };
  };
  assert.deepEqual([manifest.id, manifest.kind], [plugin.id, plugin.kind]);
  const registered = (pluginConfig: Record<string, unknown>): (() => ContextEngine<Text>) => {
    let made: (() => ContextEngine<Text>) | undefined;
    plugin.register<Text>({ pluginConfig, registerContextEngine: (_id, factory) => (made = factory) });
    assert.ok(made !== undefined);
    return made;
  };
  const dataDir = join(folderFor(t), "data");
  const factory = registered({ program: PROGRAM, dataDir, agent: "helper", budget: 4000, author: "person" });
  assert.equal(factory(), factory());
  const view = await factory().assemble({ ...SESSION, messages: turnOf(1), prompt: "and part 2?" });
  assert.equal(view.messages.length, 2);
  const wrong = [{ budget: 10 }, { author: "tool" }, { baseUrl: "http://127.0.0.1:1" }];
  for (const config of wrong) assert.throws(registered(config), NeapError);
  const known = ["program", "dataDir", "agent", "budget", "author", "baseUrl", "key"];
  assert.deepEqual(Object.keys(manifest.configSchema.properties).sort(), known.sort());
});
