/** Every route of docs/openapi.json has a method and a form of its own; versions agree. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Neap, VERSION } from "neap";

import type { Call } from "../dist/call.js";
import { Download } from "../dist/call.js";
import { CALLS } from "../dist/routes.js";
import { PACKAGE, PROGRAM, ROOT, start } from "./support.js";

interface Schema {
  properties?: Record<string, unknown>;
  required?: string[];
  additionalProperties?: unknown;
}
interface Operation {
  operationId: string;
  parameters: Array<{ name: string; in: string }>;
  requestBody?: { content: { "application/json": { schema: { $ref: string } } } };
  responses: { 200: { content: Record<string, unknown> } };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}
interface Tool {
  readSchemas(): Record<string, Schema>;
  written(schemas: Record<string, Schema>): Record<string, string>;
}

const DOCUMENT = JSON.parse(readFileSync(join(ROOT, "docs/openapi.json"), "utf8")) as Document;
const OPERATIONS = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);
const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const build = (name: string, args: unknown[]): Call<unknown> => {
  const found = Object.entries(CALLS).find(([one]) => one === camel(name));
  assert.ok(found !== undefined, `no method ${camel(name)}`);
  return Reflect.apply(found[1], undefined, args) as Call<unknown>;
};

/** What a method takes, in its order: what is in the path first, then what it cannot do without, then the rest. */
const ARGUMENTS: Record<string, string[]> = {
  erase_session: ["session", "confirm"],
  erase_memory: ["id", "confirm"],
  put_session: ["session", "@"],
  edit_memory: ["id", "@"],
  open_effort: ["session", "name"],
  record_turn: ["session", "message", "reply"],
  append_messages: ["session", "messages"],
  append_entries: ["session", "entries"],
  search: ["query"],
  expect: ["query", "expect"],
  recall: ["query"],
  expect_memory: ["expect", "query"],
  explain_recall: ["question"],
  try_pattern: ["pattern", "text"],
  remember: ["body"],
  import_memories: ["memories", "source"],
  review_memory: ["id", "outcome"],
  roll_back: ["author"],
};
const OPTION_NAMES: Record<string, string> = { "Idempotency-Key": "key", "Last-Event-ID": "lastEventId" };

for (const { path, method, operation } of OPERATIONS) {
  test(`${operation.operationId} goes to its route with all that it takes`, () => {
    const name = operation.operationId;
    const schema = operation.requestBody?.content["application/json"].schema.$ref.split("/").at(-1) ?? "";
    const fields = Object.keys(DOCUMENT.components.schemas[schema]?.properties ?? {});
    const inPath = operation.parameters.filter((one) => one.in === "path").map((one) => one.name);
    const taken = ARGUMENTS[name] ?? inPath;
    const whole = Object.fromEntries(fields.map((field) => [field, "x"]));
    const others = [...operation.parameters.map((one) => one.name), ...fields].filter((one) => !taken.includes(one));
    const options = Object.fromEntries(others.map((one) => [OPTION_NAMES[one] ?? one, "x"]));
    const args: unknown[] = taken.map((one) => (one === "@" ? whole : one === "turn" ? 1 : "x"));
    const call = build(name, taken.includes("@") ? args : [...args, options]);
    const [route, query = ""] = call.path.split("?");
    const wanted = path
      .replace("/api/v1", "")
      .replace(/\{(\w+)\}/g, (_, one: string) => (one === "turn" && taken.includes("turn") ? "1" : "x"));
    assert.deepEqual([call.method, route], [method, wanted]);
    const asked = query
      .split("&")
      .filter((pair) => pair !== "")
      .map((pair) => pair.split("=")[0]);
    const placed = (place: string): string[] =>
      operation.parameters
        .filter((one) => one.in === place)
        .map((one) => one.name)
        .sort();
    assert.deepEqual(asked.sort(), placed("query"));
    assert.deepEqual(Object.keys(call.headers).sort(), placed("header"));
    const sent = call.content === undefined ? [] : Object.keys(JSON.parse(call.content) as object);
    assert.deepEqual(sent.sort(), fields.sort());
    const isDownload = !("application/json" in operation.responses[200].content);
    assert.equal(call instanceof Download, isDownload);
    const keyed = placed("header").includes("Idempotency-Key");
    const asks = ["search", "expect", "build_context", "recall", "expect_memory", "explain_recall", "try_pattern"];
    assert.equal(call.canRepeat, method === "GET" || method === "PUT" || keyed || asks.includes(name));
  });
}

test("a name of dots alone is not taken for a folder", () => {
  assert.equal(build("show_session", [".."]).path, "/sessions/%2E%2E");
  assert.equal(build("show_session", ["a.b/c"]).path, "/sessions/a.b%2Fc");
});

test("there is no method without a route", async () => {
  const names = OPERATIONS.map(({ operation }) => camel(operation.operationId)).sort();
  assert.deepEqual(Object.keys(CALLS).sort(), names);
  const neap = new Neap({ program: PROGRAM });
  for (const name of names) assert.equal(typeof Reflect.get(neap, name), "function", name);
  await neap.close();
});

test("the forms are as the tool writes them", async () => {
  const tool = (await import(join(PACKAGE, "tools/forms.mjs"))) as Tool;
  const folder = join(PACKAGE, "src/forms");
  const files = readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), "utf8")] as const);
  assert.deepEqual(Object.fromEntries(files), tool.written(tool.readSchemas()), "run `node tools/forms.mjs`");
});

test("a form has the properties of its schema", () => {
  const folder = join(PACKAGE, "src/forms");
  const text = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");
  for (const [name, { properties, required = [] }] of Object.entries(DOCUMENT.components.schemas)) {
    const form = new RegExp(`^export interface ${name} \\{\\n([^]*?)^\\}`, "m").exec(text);
    if (form === null) {
      assert.match(text, new RegExp(`^export type ${name} = `, "m"));
      continue;
    }
    const fields = [...(form[1] ?? "").matchAll(/^ {2}(\w+)(\??): /gm)];
    assert.deepEqual(fields.map((field) => field[1]).sort(), Object.keys(properties ?? {}).sort(), name);
    const needed = fields.filter((field) => field[2] === "").map((field) => field[1]);
    assert.deepEqual(needed.sort(), [...required].sort(), name);
  }
});

test("the version is that of the program", async (t) => {
  const { neap } = await start(t);
  const described = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as { version: string };
  assert.deepEqual([described.version, (await neap.health()).version], [VERSION, VERSION]);
});
