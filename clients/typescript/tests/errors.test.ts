/** Bad input: each is an error of its own class, with a hint. */

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { inspect } from "node:util";

import {
  ApiError,
  Conflict,
  findProgram,
  Malformed,
  Neap,
  NeapError,
  type NeapOptions,
  NotAllowed,
  NotFound,
  ProgramMissing,
  Refused,
  ServerUnavailable,
  VersionMismatch,
} from "neap";

import { folderFor, keyOf, later, PROGRAM, start, stop } from "./support.js";

/** The error with which an action fails. */
async function errorFrom<Kind extends Error>(
  action: Promise<unknown>,
  kind: new (...args: never[]) => Kind,
): Promise<Kind> {
  const error: unknown = await action.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof kind, `${inspect(error)} is no ${kind.name}`);
  assert.ok(!(error instanceof NeapError) || error.hint !== "");
  return error;
}

function client(test: TestContext, options: NeapOptions): Neap {
  const made = new Neap(options);
  later(test, () => made.close());
  return made;
}

/** Sets variables of the environment for one test. */
function environment(test: TestContext, values: Record<string, string | undefined>): void {
  const before = { ...process.env };
  later(test, () => {
    process.env = before;
  });
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

function script(test: TestContext, text: string): string {
  const path = join(folderFor(test), "neap");
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

test("errors of the API have classes", async (t) => {
  const { neap } = await start(t);
  const missing = await errorFrom(neap.showSession("nowhere"), NotFound);
  assert.deepEqual([missing.status, missing.code, missing.name], [404, "no_session", "NotFound"]);
  assert.ok(missing instanceof ApiError && missing.detail.includes("nowhere"));
  assert.equal(String(missing), `NotFound: ${missing.detail}\nhint: ${missing.hint}`);
  await neap.recordTurn("auth", "one", "reply", { turn: "a" });
  await errorFrom(neap.recordTurn("auth", "two", "reply", { turn: "a" }), Conflict);
  await errorFrom(neap.eraseSession("auth", "another"), Refused);
  await errorFrom(neap.listTurns("auth", { limit: 0 }), Malformed);
  await neap.remember("one", { key: "k" });
  await errorFrom(neap.remember("two", { key: "k" }), Conflict);
  assert.equal((await neap.showSession("auth")).turns, 1);
});

test("a wrong key is not allowed", async (t) => {
  const { neap, dataDir } = await start(t);
  const baseUrl = await neap.baseUrl();
  await client(t, { baseUrl, key: keyOf(dataDir) }).recordTurn("auth", "one", "reply");
  const refused = await errorFrom(client(t, { baseUrl, key: "wrong" }).showSession("auth"), NotAllowed);
  assert.equal(refused.status, 401);
  assert.match(refused.hint, /token/);
});

test("a key that may only read cannot change", async (t) => {
  const { neap, dataDir } = await start(t);
  await neap.recordTurn("auth", "one", "reply");
  const baseUrl = `${await neap.baseUrl()}/api/v1/`;
  const reader = client(t, { baseUrl, key: keyOf(dataDir, "api-read.token") });
  assert.equal((await reader.showSession("auth")).turns, 1);
  assert.equal((await errorFrom(reader.recordTurn("auth", "two", "reply"), NotAllowed)).code, "read_only");
  assert.equal((await neap.showSession("auth")).turns, 1);
});

test("a program that is not there is named", async (t) => {
  const folder = folderFor(t);
  environment(t, { NEAP_BIN: "/nowhere/either", PATH: folder });
  const named = await errorFrom(client(t, { program: "/nowhere/neap" }).health(), ProgramMissing);
  assert.match(named.message, /no program at \/nowhere\/neap/);
  assert.match((await errorFrom(client(t, {}).health(), ProgramMissing)).hint, /NEAP_BIN must be/);
  delete process.env["NEAP_BIN"];
  assert.throws(() => findProgram(undefined, join(folder, "app.js")), {
    name: "ProgramMissing",
    hint: /install neap without --omit=optional/,
  });
});

test("the path is the last place to look", async (t) => {
  const folder = folderFor(t);
  symlinkSync(PROGRAM, join(folder, "neap"));
  environment(t, { NEAP_BIN: "/nowhere", PATH: folder });
  assert.equal(findProgram(PROGRAM), PROGRAM);
  delete process.env["NEAP_BIN"];
  assert.equal(findProgram(undefined, join(folder, "app.js")), join(folder, "neap"));
  const packaged = join(folder, `node_modules/@neap/${process.platform}-${process.arch}`);
  mkdirSync(join(packaged, "bin"), { recursive: true });
  writeFileSync(join(packaged, "package.json"), "{}");
  symlinkSync(PROGRAM, join(packaged, "bin/neap"));
  assert.equal(findProgram(undefined, join(folder, "app.js")), join(packaged, "bin/neap"));
  process.env["NEAP_BIN"] = PROGRAM;
  assert.equal(findProgram(undefined, join(folder, "app.js")), PROGRAM);
});

test("another program is not taken for the server", async (t) => {
  for (const program of ["true", "echo", "yes"]) {
    const error = await errorFrom(client(t, { program }).health(), ServerUnavailable);
    assert.match(error.message, /ended before it was ready/);
  }
});

test("a program that cannot run is an error", async (t) => {
  const program = script(t, "#!/nowhere/interpreter\n");
  assert.match((await errorFrom(client(t, { program }).health(), ServerUnavailable)).message, /cannot start/);
});

test("a program that is too old is named as such", async (t) => {
  const program = script(t, "#!/bin/sh\necho \"unexpected argument '--until-stdin-closes'\" >&2\nexit 2\n");
  await errorFrom(client(t, { program }).health(), VersionMismatch);
});

test("a data folder that cannot be is an error", async (t) => {
  const file = join(folderFor(t), "file");
  writeFileSync(file, "a file");
  const error = await errorFrom(client(t, { program: PROGRAM, dataDir: file }).health(), ServerUnavailable);
  assert.match(error.message, /file/);
});

test("a server of another version is refused", async (t) => {
  let version: string | undefined;
  const server = createServer((_, answer) => answer.end(JSON.stringify({ status: "ok", version })));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  later(t, () => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const options = { baseUrl: `http://127.0.0.1:${address.port}`, key: "x" };
  for (version of ["0.2.0", "1.1.0"]) {
    const error = await errorFrom(Neap.connect(options), VersionMismatch);
    assert.ok(error.message.startsWith(`the server is Neap ${version}, this package is made for 0.1.`));
  }
  version = undefined;
  assert.match((await errorFrom(Neap.connect(options), VersionMismatch)).message, /no Neap server/);
  version = "0.1.99";
  await (await Neap.connect(options)).close();
});

test("what is no Neap server is refused", async (t) => {
  const { neap, dataDir } = await start(t);
  // Below the page there is an answer, but no API.
  const other = client(t, { baseUrl: `${await neap.baseUrl()}/ui`, key: keyOf(dataDir) });
  assert.match((await errorFrom(other.health(), VersionMismatch)).message, /no Neap server/);
});

test("a server that is not there is unavailable", async (t) => {
  // Port 1 of this machine is closed.
  const other = client(t, { baseUrl: "http://127.0.0.1:1", key: "x" });
  const error = await errorFrom(other.showSession("auth"), ServerUnavailable);
  assert.match(error.message, /cannot reach/);
  assert.match(error.hint, /baseUrl/);
});

test("arguments that do not fit are refused", () => {
  const baseUrl = "http://127.0.0.1:6327";
  const wrong: NeapOptions[] = [
    { baseUrl },
    { key: "x" },
    { baseUrl: "127.0.0.1:6327", key: "x" },
    { baseUrl: "http://", key: "x" },
    { baseUrl, key: "" },
    { baseUrl, key: "x\ny" },
    { baseUrl, key: "x", dataDir: "/tmp" },
  ];
  for (const options of wrong) {
    assert.throws(
      () => new Neap(options),
      (error) => error instanceof NeapError && error.hint !== "",
    );
  }
});

test("names, texts and numbers that cannot be sent are refused", async (t) => {
  const { neap } = await start(t);
  const bad: Array<[() => Promise<unknown>, RegExp]> = [
    [() => neap.showSession(""), /empty/],
    [() => neap.showSession("\ud83d"), /half of a character/],
    [() => neap.recordTurn("auth", "\ud83d", "reply"), /half of a character/],
    [() => neap.search("a", { max: Number.NaN }), /is NaN/],
    [() => neap.remember("a", { key: "\u00fc" }), /plain ASCII/],
  ];
  for (const [act, message] of bad) assert.throws(act, { name: "NeapError", message });
  await errorFrom(neap.showSession(".."), NotFound);
});

test("a closed client says so", async (t) => {
  const { neap, dataDir } = await start(t);
  const other = client(t, { baseUrl: await neap.baseUrl(), key: keyOf(dataDir) });
  await other.health();
  for (const one of [other, neap]) {
    await one.close();
    await one.close();
    assert.match((await errorFrom(one.health(), NeapError)).message, /closed/);
  }
});

test("a key is not shown", async (t) => {
  const { neap, dataDir } = await start(t);
  const other = client(t, { baseUrl: await neap.baseUrl(), key: keyOf(dataDir) });
  await other.health();
  for (const one of [neap, other]) {
    assert.ok(!inspect(one, { depth: null, showHidden: true }).includes(keyOf(dataDir)));
  }
});

test("a server that does not answer in time is unavailable", async (t) => {
  const { neap, dataDir } = await start(t);
  const hasty = client(t, { baseUrl: await neap.baseUrl(), key: keyOf(dataDir), timeoutMs: 300 });
  await hasty.health();
  const pid = neap.serverPid ?? 0;
  await stop(pid);
  try {
    const error = await errorFrom(hasty.showSession("auth"), ServerUnavailable);
    assert.match(error.message, /did not answer in time/);
    assert.match(error.hint, /timeoutMs/);
  } finally {
    process.kill(pid, "SIGCONT");
  }
});
