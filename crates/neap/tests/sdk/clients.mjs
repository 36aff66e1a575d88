// The makers' own libraries for JavaScript, through the proxy. Run by sdk.rs from the folder where they are installed.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const installed = createRequire(pathToFileURL(`${process.argv[2]}/`));
const OpenAI = installed("openai").default;
const Anthropic = installed("@anthropic-ai/sdk").default;

const one = new OpenAI({ apiKey: "k", maxRetries: 0 });
const two = new Anthropic({ apiKey: "k", maxRetries: 0 });
const said = [{ role: "user", content: "hi" }];
const failing = [{ role: "user", content: "please fail" }];
const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
const toolsTwo = [{ name: "f", input_schema: { type: "object" } }];

// Chat Completions: whole, streamed, usage only where it was asked for, tools, errors.
let whole = await one.chat.completions.create({ model: "gpt-x", messages: said });
assert.equal(whole.choices[0].message.content, "Hello");
assert.equal(whole.usage.prompt_tokens, 11);
let text = "";
let last;
const streamed = { model: "gpt-x", messages: said, stream: true, stream_options: { include_usage: true } };
for await (const chunk of await one.chat.completions.create(streamed)) {
  text += chunk.choices[0]?.delta.content ?? "";
  last = chunk;
}
assert.equal(text, "Hello");
assert.equal(last.usage.total_tokens, 14);
for await (const chunk of await one.chat.completions.create({ model: "gpt-x", messages: said, stream: true })) {
  assert.equal(chunk.usage ?? null, null);
}
whole = await one.chat.completions.create({ model: "gpt-x", messages: said, tools });
assert.equal(whole.choices[0].message.tool_calls[0].function.name, "f");
const called = await one.chat.completions.stream({ model: "gpt-x", messages: said, tools }).finalChatCompletion();
assert.equal(called.choices[0].message.tool_calls[0].function.arguments, '{"a":1}');
await assert.rejects(one.chat.completions.create({ model: "gpt-x", messages: failing }), (error) => {
  assert.ok(error instanceof OpenAI.RateLimitError);
  assert.deepEqual([error.code, error.requestID], ["rate_limit_exceeded", "r-1"]);
  return true;
});

// Responses.
assert.equal((await one.responses.create({ model: "gpt-x", input: "hi" })).output_text, "Hello");
const kinds = [];
for await (const event of await one.responses.create({ model: "gpt-x", input: "hi", stream: true })) kinds.push(event.type);
assert.equal(kinds.at(-1), "response.completed");
const final = await one.responses.stream({ model: "gpt-x", input: "hi" }).finalResponse();
assert.equal(final.usage.input_tokens, 11);
assert.equal((await one.responses.inputTokens.count({ model: "gpt-x", input: "hi" })).input_tokens, 42);
// The proxy itself answers this, and opens what it gave when it comes back.
const short = await one.responses.compact({ model: "gpt-x", input: "hi" });
assert.deepEqual(short.output.map((item) => item.type), ["message", "compaction"]);
assert.equal((await one.responses.create({ model: "gpt-x", input: [...short.output, ...said] })).output_text, "Hello");
const models = [];
for await (const model of one.models.list()) models.push(model.id);
assert.deepEqual(models, ["gpt-x"]);

// Messages.
const asked = { model: "claude-x", max_tokens: 9, messages: said };
const message = await two.messages.create(asked);
assert.deepEqual([message.content[0].text, message.usage.input_tokens], ["Hello", 11]);
const answered = await two.messages.stream(asked).finalMessage();
assert.deepEqual([answered.content[0].text, answered.stop_reason], ["Hello", "end_turn"]);
const calling = await two.messages.stream({ ...asked, tools: toolsTwo }).finalMessage();
assert.deepEqual(calling.content[0].input, { a: 1 });
await assert.rejects(two.messages.create({ ...asked, messages: failing }), (error) => {
  assert.ok(error instanceof Anthropic.BadRequestError && error.message.includes("prompt is too long"));
  return true;
});
assert.equal((await two.messages.countTokens({ model: "claude-x", messages: said })).input_tokens, 42);
const claudes = [];
for await (const model of two.models.list()) claudes.push(model.id);
assert.deepEqual(claudes, ["claude-x"]);

// What the proxy itself refuses, and what it tells.
const elsewhere = new Anthropic({ apiKey: "k", maxRetries: 0, defaultHeaders: { origin: "https://evil.example" } });
await assert.rejects(elsewhere.messages.create(asked), Anthropic.PermissionDeniedError);
const long = [{ role: "user", content: "x".repeat(64 << 20) }];
await assert.rejects(one.chat.completions.create({ model: "gpt-x", messages: long }), (error) => {
  assert.deepEqual([error.status, error.code], [413, "request_too_large"]);
  return true;
});
const { response } = await two.messages.create(asked).withResponse();
assert.equal(response.headers.get("x-neap-changes"), "0");
assert.equal(response.headers.get("x-neap-tokens-in"), response.headers.get("x-neap-tokens-sent"));
console.log("all hold");
