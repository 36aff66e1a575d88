/** The middleware in the AI SDK itself, with a scripted model. */

import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { generateText, isStepCount, jsonSchema, type ModelMessage, streamText, tool, wrapLanguageModel } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { Neap, NeapError } from "neap";
import { neapMiddleware, type NeapMiddlewareOptions } from "neap/ai-sdk";

import { all, folderFor, later, PROGRAM, start } from "./support.js";

const BUDGET = 3000;
const CODE = "7319-KESTREL";
const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

type Answer = (prompt: LanguageModelV4Prompt) => LanguageModelV4Content[];

/** A model that answers by a rule, and keeps what it was sent. */
function scripted(answer: Answer): { model: MockLanguageModelV4; sent: LanguageModelV4CallOptions[] } {
  const sent: LanguageModelV4CallOptions[] = [];
  const reply = (options: LanguageModelV4CallOptions) => {
    sent.push(options);
    const content = answer(options.prompt);
    const unified = content.some((part) => part.type === "tool-call") ? ("tool-calls" as const) : ("stop" as const);
    return { content, finishReason: { unified, raw: undefined }, usage: USAGE };
  };
  const model = new MockLanguageModelV4({
    doGenerate: async (options) => ({ ...reply(options), warnings: [] }),
    doStream: async (options) => {
      const { content, ...finish } = reply(options);
      const parts = content.flatMap((part): LanguageModelV4StreamPart[] => {
        if (part.type !== "text") return part.type === "tool-call" ? [part] : [];
        const id = "1";
        const half = Math.ceil(part.text.length / 2);
        return [
          { type: "text-start", id },
          { type: "text-delta", id, delta: part.text.slice(0, half) },
          { type: "text-delta", id, delta: part.text.slice(half) },
          { type: "text-end", id },
        ];
      });
      return {
        stream: convertArrayToReadableStream<LanguageModelV4StreamPart>([...parts, { type: "finish", ...finish }]),
      };
    },
  });
  return { model, sent };
}

function wrapped(model: MockLanguageModelV4, options: Partial<NeapMiddlewareOptions> & { neap: Neap }) {
  return wrapLanguageModel({ model, middleware: neapMiddleware({ session: "chat", budget: BUDGET, ...options }) });
}

/** Bytes of all texts in a request: three are counted as a token. */
function bytesOf({ prompt, tools }: LanguageModelV4CallOptions): number {
  const texts = prompt.map((message) =>
    typeof message.content === "string" ? message.content : JSON.stringify(message.content),
  );
  return Buffer.byteLength(texts.join("")) + Buffer.byteLength(JSON.stringify(tools ?? []));
}

function lastQuestion(prompt: LanguageModelV4Prompt): string {
  const message = prompt.findLast((one) => one.role === "user");
  const part = message?.role === "user" ? message.content.at(-1) : undefined;
  return part?.type === "text" ? part.text : "";
}

const text = (said: string): LanguageModelV4Content[] => [{ type: "text", text: said }];

/** Knows only what is in its prompt, and looks up a gauge with a tool. */
const machinist: Answer = (prompt) => {
  const question = lastQuestion(prompt);
  if (question.includes("vault code")) {
    const seen = prompt.some((message) => JSON.stringify(message.content).includes(CODE));
    return text(seen ? `The code is ${CODE}.` : "I do not know.");
  }
  if (question.includes("gauge") && prompt.at(-1)?.role === "user") {
    return [
      { type: "tool-call", toolCallId: `call-${question.slice(0, 20)}`, toolName: "gauge", input: '{"of":"steam"}' },
    ];
  }
  return text(`${question}: it is a lever that moves a wheel. `.repeat(6));
};

const tools = {
  gauge: tool({
    description: "Reads a gauge",
    inputSchema: jsonSchema<{ of: string }>({ type: "object", properties: { of: { type: "string" } } }),
    execute: async ({ of }) => ({ of, bar: 17, log: "pressure rises slowly; ".repeat(40) }),
  }),
};

test("100 turns are bounded, remembered and recorded once, though server and host end in the middle", async (t) => {
  const dataDir = join(folderFor(t), "data");
  const { model, sent } = scripted(machinist);
  const messages: ModelMessage[] = [];
  let neap = await Neap.connect({ program: PROGRAM, dataDir });
  later(t, () => neap.close());
  let host = wrapped(model, { neap, author: "person" });
  let reply = "";
  for (let turn = 1; turn <= 100; turn += 1) {
    if (turn === 40) process.kill(neap.serverPid ?? 0, "SIGKILL");
    if (turn === 60) {
      await neap.close();
      neap = await Neap.connect({ program: PROGRAM, dataDir });
      host = wrapped(model, { neap, author: "person" });
    }
    const content = questionAt(turn);
    messages.push({ role: "user", content });
    const common = { model: host, system: "You know the machine.", messages, tools, stopWhen: isStepCount(3) };
    const answered = turn % 2 === 0 ? streamText(common) : await generateText(common);
    reply = await answered.text;
    // Some hosts keep the calls of tools, others do not.
    if (turn < 80) messages.push(...(await answered.responseMessages));
    else messages.push({ role: "assistant", content: reply });
  }
  assert.equal(reply, `The code is ${CODE}.`);
  assert.ok(sent.length > 100);
  for (const [at, request] of sent.entries()) {
    assert.ok(bytesOf(request) <= BUDGET * 3, `request ${at} has ${bytesOf(request)} bytes`);
    assert.equal(request.prompt[0]?.content, "You know the machine.");
    assert.ok(request.prompt.slice(1).every((message, index) => index > 0 || message.role === "user"));
  }
  const rows = await all(neap.each((cursor) => neap.listTurns("chat", { limit: 200, cursor })));
  assert.deepEqual(
    rows.map((row) => row.message).reverse(),
    Array.from({ length: 100 }, (_, at) => questionAt(at + 1)),
  );
  const gauge = await neap.showOriginal("chat", "t10");
  assert.match(gauge.text, /"bar":17/);
  assert.match(gauge.text, /it is a lever/);
});

function questionAt(turn: number): string {
  if (turn === 3) return `the vault code of the depot is ${CODE}`;
  if (turn === 100) return "what is the vault code of the depot?";
  return turn % 10 === 0 ? `read gauge ${turn}` : `tell me about part ${turn} of the machine`;
}

test("between two rewrites a prompt grows at its end alone", async (t) => {
  const { neap } = await start(t);
  const { model, sent } = scripted(machinist);
  const host = wrapped(model, { neap });
  const messages: ModelMessage[] = [];
  for (let turn = 1; turn <= 30; turn += 1) {
    messages.push({ role: "user", content: `tell me about part ${turn} of the machine` });
    messages.push(...(await generateText({ model: host, messages })).response.messages);
  }
  // The last message of a request may have a note, which the next one does not repeat.
  const stable = sent.map(({ prompt }) => prompt.slice(0, -1).map((message) => JSON.stringify(message)));
  const rewrites = stable
    .slice(1)
    .filter((prompt, at) => stable[at]?.some((message, index) => message !== prompt[index]));
  assert.ok(rewrites.length > 0 && rewrites.length <= 5, `${rewrites.length} rewrites`);
});

test("what fits is sent as it is", async (t) => {
  const { neap } = await start(t);
  const { model, sent } = scripted(machinist);
  const host = wrapped(model, { neap });
  const messages: ModelMessage[] = [
    { role: "user", content: "hello" },
    { role: "assistant", content: "Hi." },
    { role: "user", content: "tell me more" },
  ];
  await generateText({ model: host, messages });
  assert.equal(sent[0]?.prompt.length, 3);
  assert.ok(!JSON.stringify(sent[0]?.prompt).includes("§["));
  assert.equal((await neap.showSession("chat")).turns, 2);
});

test("a host that forgot the conversation is told of it", async (t) => {
  const { neap } = await start(t);
  const { model } = scripted(machinist);
  const first = wrapped(model, { neap });
  await generateText({ model: first, prompt: `the vault code of the depot is ${CODE}` });
  const { text: reply } = await generateText({
    model: wrapped(model, { neap }),
    prompt: "what is the vault code of the depot?",
  });
  assert.equal(reply, `The code is ${CODE}.`);
});

test("long results and messages are sent in short and recorded whole", async (t) => {
  const { neap } = await start(t);
  const { model, sent } = scripted(machinist);
  const host = wrapped(model, { neap });
  const long = { gauge: { ...tools.gauge, execute: async () => `${"steam ".repeat(20_000)} at 17 bar` } };
  const question = `read gauge 1 ${"please ".repeat(9000)}`;
  await generateText({ model: host, prompt: question, tools: long, stopWhen: isStepCount(3) });
  assert.equal(sent.length, 2);
  for (const request of sent) assert.ok(bytesOf(request) <= BUDGET * 3);
  const result = sent[1]?.prompt.at(-1);
  assert.match(JSON.stringify(result), /characters left out …\][^]*at 17 bar/);
  const calls = sent[1]?.prompt.map((message) => message.role);
  assert.deepEqual(calls, ["user", "assistant", "tool"]);
  // The store divides a long exchange.
  const { items } = await neap.listTurns("chat");
  const originals = await Promise.all(items.map((row) => neap.showOriginal("chat", `t${row.turn}`)));
  const chars = originals.reduce((total, original) => total + original.chars, 0);
  assert.ok(chars > 180_000, `${chars} characters are recorded`);
});

test("equal turns are all recorded, and a turn that failed with the next request", async (t) => {
  const { neap } = await start(t);
  let fails = false;
  const { model } = scripted((prompt) => {
    if (fails) throw new Error("the provider is down");
    return machinist(prompt);
  });
  const host = wrapped(model, { neap });
  const messages: ModelMessage[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    messages.push({ role: "user", content: "go on" });
    messages.push(...(await generateText({ model: host, messages })).response.messages);
  }
  assert.equal((await neap.showSession("chat")).turns, 3);
  fails = true;
  messages.push({ role: "user", content: "are you there?" });
  await assert.rejects(generateText({ model: host, messages, maxRetries: 0 }), /the provider is down/);
  assert.equal((await neap.showSession("chat")).turns, 3);
  fails = false;
  messages.push({ role: "assistant", content: "(no answer)" }, { role: "user", content: "and now?" });
  await generateText({ model: host, messages });
  const rows = (await neap.listTurns("chat")).items.map((row) => row.message);
  assert.deepEqual(rows, ["and now?", "are you there?", "go on", "go on", "go on"]);
});

test("each session has its own turns, and a request without one is left alone", async (t) => {
  const { neap } = await start(t);
  const { model, sent } = scripted(machinist);
  const host = wrapped(model, {
    neap,
    session: ({ providerOptions }) => {
      const name = providerOptions?.["neap"]?.["session"];
      return typeof name === "string" ? name : undefined;
    },
  });
  for (const session of ["one", "two"]) {
    await generateText({ model: host, prompt: `hello ${session}`, providerOptions: { neap: { session } } });
    assert.equal((await neap.showSession(session)).turns, 1);
  }
  await generateText({ model: host, prompt: "hello" });
  assert.equal((await neap.listSessions()).items.length, 2);
  assert.equal(sent.length, 3);
});

test("a budget that cannot be kept is refused", async (t) => {
  const { neap } = await start(t);
  const { model, sent } = scripted(machinist);
  assert.throws(() => wrapped(model, { neap, budget: 100 }), NeapError);
  const system = "rule ".repeat(3000);
  await assert.rejects(
    generateText({ model: wrapped(model, { neap }), system, prompt: "hello" }),
    /more than the budget/,
  );
  assert.equal(sent.length, 0);
});
