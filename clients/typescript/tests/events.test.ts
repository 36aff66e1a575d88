/** Events as they happen. */

import assert from "node:assert/strict";
import { createConnection, createServer, type Socket } from "node:net";
import { once } from "node:events";
import process from "node:process";
import { test } from "node:test";

import { type LiveEvent, Neap, NotAllowed } from "neap";

import { EventReader, LineReader } from "../dist/lines.js";
import { keyOf, later, start } from "./support.js";

type Events = AsyncGenerator<LiveEvent, void, void>;

async function next(events: Events): Promise<LiveEvent> {
  const { value } = await events.next();
  assert.ok(value !== undefined);
  return value;
}

test("a turn is seen as it happens", async (t) => {
  const { neap } = await start(t);
  const events = neap.events();
  const first = await next(events);
  assert.ok(first.event === "open" && !first.data.resumed);
  await neap.recordTurn("auth", "message", "reply");
  const kinds: string[] = [];
  for await (const event of events) {
    if (event.event === "open" || event.event === "request") continue;
    assert.ok([null, "auth"].includes(event.data.session));
    kinds.push(event.data.kind);
    if (event.data.kind === "turn_completed") break;
  }
  for (const kind of ["session_created", "turn_started", "turn_completed"]) assert.ok(kinds.includes(kind), kind);
});

test("events go on where they were left", async (t) => {
  const { neap } = await start(t);
  let lastEventId = "";
  for await (const event of neap.events()) {
    lastEventId = event.id;
    if (event.event === "open") await neap.recordTurn("auth", "message", "reply");
    if (event.event === "turn" && event.data.kind === "turn_completed") break;
  }
  const events = neap.events({ lastEventId });
  const first = await next(events);
  await events.return();
  assert.ok(first.event === "open" && first.data.resumed);
});

test("events miss nothing when the connection breaks", async (t) => {
  const { neap, dataDir } = await start(t);
  // In between is a relay, whose connections can be cut.
  const target = new URL(await neap.baseUrl());
  const connections = new Set<Socket>();
  const relay = createServer((near) => {
    const far = createConnection(Number(target.port), target.hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      connections.add(one);
      one.on("error", () => undefined).on("close", () => other.destroy());
      one.pipe(other);
    }
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  later(t, () => relay.close());
  const address = relay.address();
  assert.ok(address !== null && typeof address === "object");
  // The server answers only those who know its own address.
  const watcher = new Neap({ baseUrl: `http://127.0.0.1:${address.port}`, key: keyOf(dataDir) });
  later(t, () => watcher.close());
  const events = watcher.events();
  assert.equal((await next(events)).event, "open");
  for (const connection of connections) connection.destroy();
  await neap.recordTurn("auth", "message", "reply");
  const again = await next(events);
  assert.ok(again.event === "open" && again.data.resumed);
  assert.deepEqual([(await next(events)).event, (await next(events)).event], ["session", "turn"]);
  await events.return();
});

test("events go on after the server was killed", async (t) => {
  const { neap } = await start(t);
  const events = neap.events();
  assert.equal((await next(events)).event, "open");
  process.kill(neap.serverPid ?? 0, "SIGKILL");
  const again = await next(events);
  assert.ok(again.event === "open" && !again.data.resumed);
  await neap.recordTurn("auth", "message", "reply");
  assert.ok(["session", "turn"].includes((await next(events)).event));
  await events.return();
});

test("a wrong key sees nothing", async (t) => {
  const { neap } = await start(t);
  const other = new Neap({ baseUrl: await neap.baseUrl(), key: "wrong" });
  later(t, () => other.close());
  await assert.rejects(other.events().next(), NotAllowed);
});

test("lines are whole however they arrive", () => {
  const text = 'id: r-1\nevent: turn\ndata: {"a": "x\u2028\u0085y"}\n\n:\n\nid: r-2\nevent: open\ndata: {}\n\n';
  const wanted = [
    { id: "r-1", event: "turn", data: { a: "x\u2028\u0085y" } },
    { id: "r-2", event: "open", data: {} },
  ];
  for (const size of [1, 3, 1000]) {
    assert.deepEqual(items(new EventReader(), text, size), wanted);
    assert.deepEqual(items(new LineReader(), '{"a":"\u2028"}\n{"b":1}\n', size), [{ a: "\u2028" }, { b: 1 }]);
  }
});

function items(reader: LineReader, text: string, size: number): unknown[] {
  const content = Buffer.from(text);
  const found: unknown[] = [];
  for (let at = 0; at < content.length; at += size) found.push(...reader.feed(content.subarray(at, at + size)));
  return found;
}
