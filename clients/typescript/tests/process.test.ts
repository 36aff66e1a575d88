/** The embedded server: it ends with its client, and is started again when it was killed. */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";

import { Neap, ServerUnavailable } from "neap";

import { all, folderFor, isRunning, later, PACKAGE, PROGRAM, start, stop, until } from "./support.js";

/** Calls that are under way at a time. */
const CONNECTIONS = 8;

function pidOf(neap: Neap): number {
  assert.ok(neap.serverPid !== undefined);
  return neap.serverPid;
}

function kill(neap: Neap): void {
  process.kill(pidOf(neap), "SIGKILL");
}

/** Another process with a client in it. */
function node(dataDir: string, code: string): ChildProcess {
  const text = `import { Neap } from "neap";\nconst neap = new Neap({ dataDir: ${JSON.stringify(dataDir)} });\n${code}`;
  return spawn(process.execPath, ["--input-type=module", "--eval", text], {
    cwd: PACKAGE,
    env: { ...process.env, NEAP_BIN: PROGRAM },
    stdio: ["pipe", "pipe", "inherit"],
  });
}

async function lineOf(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout !== null);
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  return text.toString().trim();
}

test("nothing starts before the first call", async () => {
  const idle = new Neap({ program: PROGRAM });
  assert.equal(idle.serverPid, undefined);
  await idle.close();
});

test("one server starts for many first calls", async (t) => {
  const neap = new Neap({ program: PROGRAM, dataDir: join(folderFor(t), "data") });
  later(t, () => neap.close());
  await Promise.all(Array.from({ length: 20 }, () => neap.health()));
  const children = execFileSync("pgrep", ["-P", String(process.pid), "neap"], { encoding: "utf8" });
  assert.equal(children.trim(), String(neap.serverPid));
});

test("a killed server is started again, and nothing is lost", async (t) => {
  const { neap } = await start(t);
  for (let number = 0; number < 3; number += 1) {
    await neap.recordTurn("auth", `message ${number}`, "reply");
    kill(neap);
  }
  assert.equal((await neap.showSession("auth")).turns, 3);
  // What was never sent can be sent, also if it must not be repeated.
  const pid = pidOf(neap);
  kill(neap);
  await until(() => !isRunning(pid), "the server is gone");
  assert.equal((await neap.openEffort("auth", "auth bug")).refusal, null);
});

test("a call under way is repeated if it may be", async (t) => {
  const { neap } = await start(t);
  await neap.recordTurn("auth", "message", "reply", { turn: "a" });
  const turn = await duringKill(neap, () => neap.recordTurn("auth", "another", "reply", { turn: "b" }));
  assert.equal(turn.turn, 2);
  assert.equal((await neap.showSession("auth")).turns, 2);
});

test("a call under way is not repeated if it must not be", async (t) => {
  const { neap } = await start(t);
  const { id } = await neap.remember("Staging runs PostgreSQL 16");
  const error: unknown = await duringKill(neap, () => neap.actOnMemory(id, "confirm")).catch((thrown) => thrown);
  assert.ok(error instanceof ServerUnavailable);
  assert.match(error.hint, /may have been made or not/);
  // The next call finds a server.
  assert.equal((await neap.showMemory(id)).id, id);
});

/** Kills the server after the call was sent, and before it is answered. */
async function duringKill<Form>(neap: Neap, act: () => Promise<Form>): Promise<Form> {
  const pid = pidOf(neap);
  await stop(pid);
  const before = unreadBytes();
  const acted = act();
  await until(() => unreadBytes() > before, "the call has arrived");
  process.kill(pid, "SIGKILL");
  return acted;
}

/** Bytes that came for local servers, which they did not read. */
function unreadBytes(): number {
  const rows = readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1);
  const queues = rows.map((row) => row.trim().split(/\s+/)[4]?.split(":")[1] ?? "0");
  return queues.reduce((total, queue) => total + Number.parseInt(queue, 16), 0);
}

test("a server that is killed again and again is given up", async (t) => {
  const folder = folderFor(t);
  const flag = join(folder, "dies");
  const program = join(folder, "neap");
  // With the flag, the program has ended when it says where it listens.
  const dying = `if [ -e "${flag}" ]; then said=$("${PROGRAM}" "$@" </dev/null); echo "$said"; exit; fi`;
  writeFileSync(program, `#!/bin/sh\n${dying}\nexec "${PROGRAM}" "$@"\n`);
  chmodSync(program, 0o755);
  const { neap } = await start(t, { program, dataDir: join(folder, "data") });
  await neap.recordTurn("auth", "message", "reply");
  writeFileSync(flag, "");
  kill(neap);
  await assert.rejects(neap.showSession("auth"), (error) => {
    assert.ok(error instanceof ServerUnavailable && error.hint !== "");
    return error.message.includes("ended again");
  });
  rmSync(flag);
  assert.equal((await neap.showSession("auth")).turns, 1);
});

for (const [how, code] of [
  ["it comes to its end", ""],
  ["it exits", "process.exit(3);"],
  ["it is killed", 'process.kill(process.pid, "SIGKILL");'],
] as const) {
  test(`the server ends with its client: ${how}`, async (t) => {
    const dataDir = join(folderFor(t), "data");
    const child = node(
      dataDir,
      `await neap.recordTurn("auth", "message", "reply");\nconsole.log(neap.serverPid);\n${code}`,
    );
    const pid = Number(await lineOf(child));
    await once(child, "exit");
    await until(() => !isRunning(pid), `the server ${pid} has ended`);
    const { neap } = await start(t, { dataDir });
    assert.equal((await neap.showSession("auth")).turns, 1);
  });
}

test("a server that is told to end is started again", async (t) => {
  const { neap } = await start(t);
  await neap.recordTurn("auth", "message", "reply");
  process.kill(pidOf(neap), "SIGTERM");
  assert.equal((await neap.recordTurn("auth", "another", "reply")).turn, 2);
});

test("a key for interruption does not reach the server", async (t) => {
  const { neap } = await start(t);
  const group = execFileSync("ps", ["-o", "pgid=", "-p", String(pidOf(neap))], { encoding: "utf8" });
  assert.equal(group.trim(), String(pidOf(neap)));
});

test("two processes share a data folder", async (t) => {
  const dataDir = join(folderFor(t), "data");
  const code = `
    await neap.health();
    console.log("ready");
    await new Promise((go) => process.stdin.once("data", go));
    for (let number = 0; number < 8; number += 1) {
      await neap.recordTurn("shared", \`message \${number} of \${process.pid}\`, "reply");
    }
    await neap.close();
    process.exit(0);`;
  const both = [node(dataDir, code), node(dataDir, code)];
  for (const child of both) assert.equal(await lineOf(child), "ready");
  for (const child of both) child.stdin?.write("go\n");
  for (const child of both) assert.equal(child.exitCode ?? (await once(child, "exit"))[0], 0);
  const { neap } = await start(t, { dataDir });
  const rows = await all(neap.each((cursor) => neap.listTurns("shared", { limit: 200, cursor })));
  assert.equal(new Set(rows.map((row) => row.message)).size, 16);
  assert.equal(rows.length, 16);
});

test("turns of many calls at once are all there, though the server is killed", async (t) => {
  const { neap } = await start(t);
  const turns = Number(process.env["NEAP_TEST_TURNS"] ?? "400");
  const waiting = new Set(Array.from({ length: turns }, (_, number) => number));
  let kills = 0;
  let begun = 4 * CONNECTIONS;
  const record = async (number: number): Promise<void> => {
    await neap.recordTurn(`session ${number % 8}`, `message ${number}`, "reply");
    waiting.delete(number);
    // Not before those have ended that were under way when it was killed last: a call outlives one restart.
    const [first = turns] = waiting;
    if (first < begun || kills === 3) return;
    begun = turns - waiting.size + 4 * CONNECTIONS;
    kills += 1;
    kill(neap);
  };
  await Promise.all([...waiting].map(record));
  assert.ok(kills > 1, `${kills} kills`);
  const messages = new Set<string>();
  for (let session = 0; session < 8; session += 1) {
    const rows = await all(neap.each((cursor) => neap.listTurns(`session ${session}`, { limit: 200, cursor })));
    for (const row of rows) messages.add(row.message);
    assert.equal(rows.length, Math.ceil((turns - session) / 8));
  }
  assert.equal(messages.size, turns);
});

test("a busy store is asked again, and what must not be repeated is not", async (t: TestContext) => {
  let asked = 0;
  const problem = { code: "busy", detail: "the store is busy", hint: "wait" };
  const server = createServer((request, answer) => {
    if (request.url?.endsWith("/health")) return answer.end('{"status":"ok","version":"0.1.0"}');
    asked += 1;
    answer.statusCode = 503;
    return answer.end(JSON.stringify(problem));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  later(t, () => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const neap = await Neap.connect({ baseUrl: `http://127.0.0.1:${address.port}`, key: "x" });
  later(t, () => neap.close());
  await assert.rejects(neap.showSession("auth"), { name: "StoreBusy", hint: "wait" });
  assert.equal(asked, 4);
  await assert.rejects(neap.openEffort("auth", "bug"), { name: "StoreBusy" });
  assert.equal(asked, 5);
});
