// Starts the real program on a store of its own.

import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { words } from "../mock/session.js";

export const PROGRAM = process.env.NEAP_BIN ?? new URL("../../../../target/debug/neap", import.meta.url).pathname;
/** What a test says if there is no program to test. */
export const SKIP = existsSync(PROGRAM) ? false : `${PROGRAM} is not built`;

/** A script of turns in which efforts open and end. @param {number} turns */
function script(turns) {
  return Array.from({ length: turns }, (_, index) => {
    const said = words(index + 1);
    const place = index % 12;
    const calls = place === 0 ? [{ name: "open_effort", arguments: { name: `work ${index / 12 + 1}` } }] : place === 9 ? [{ name: "close_effort" }] : [];
    return JSON.stringify({ user: said.ask, calls, assistant: `${said.reply} ${said.result ?? ""}` });
  }).join("\n");
}

/**
 * A store with a session of `turns` turns, named `talk`, and two memories; the server on it.
 * @param {number} turns
 * @param {(server: { enter: string, origin: string, run: (...args: string[]) => string, record: (user: string) => void }) => Promise<void>} check `record`: another program adds a turn
 */
export async function withNeap(turns, check) {
  await withStore(async (folder, run) => {
    if (turns > 0) {
      const file = join(folder, "script.jsonl");
      await writeFile(file, script(turns));
      run("lab", "replay", file, "--session", "talk", "--set", "context_tokens_max=8000");
      run("remember", "Staging runs PostgreSQL 16");
      run("remember", "<script>document.title='owned'</script> is what a page must not run");
    }
    const server = spawn(PROGRAM, ["--data-dir", folder, "ui", "--listen", "127.0.0.1:0", "--no-open"], { stdio: ["ignore", "pipe", "ignore"] });
    await untilEnd(server, async () => {
      const enter = await firstMatch(server.stdout, /^http:\S+/u);
      const record = (/** @type {string} */ user) => {
        const input = JSON.stringify({ user, calls: [], assistant: "Noted." });
        execFileSync(PROGRAM, ["--data-dir", folder, "lab", "replay", "-", "--session", "talk"], { input, stdio: ["pipe", "ignore", "inherit"] });
      };
      await check({ enter, origin: new URL(enter).origin, run, record });
    });
  });
}

/**
 * The proxy in front of a provider at `upstream`, and its page by the token of the local user.
 * @param {string} upstream
 * @param {(server: { origin: string, token: string }) => Promise<void>} check
 */
export async function withProxy(upstream, check) {
  await withStore(async (folder) => {
    const server = spawn(PROGRAM, ["--data-dir", folder, "serve", "--listen", "127.0.0.1:0", "--upstream", upstream], { stdio: ["ignore", "ignore", "pipe"] });
    await untilEnd(server, async () => {
      const origin = await firstMatch(server.stderr, /http:\/\/127\S+/u);
      await check({ origin, token: (await readFile(join(folder, "keys", "api.token"), "utf8")).trim() });
    });
  });
}

/** @param {(folder: string, run: (...args: string[]) => string) => Promise<void>} check */
async function withStore(check) {
  const folder = await mkdtemp(join(tmpdir(), "neap-page-"));
  const run = (/** @type {string[]} */ ...args) => execFileSync(PROGRAM, ["--data-dir", folder, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  try {
    await check(folder, run);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {import("node:child_process").ChildProcess} child @param {() => Promise<void>} check */
async function untilEnd(child, check) {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    await check();
  } finally {
    if (child.exitCode === null) child.kill();
    await ended;
  }
}

/** @param {import("node:stream").Readable} stream @param {RegExp} wanted @returns {Promise<string>} */
async function firstMatch(stream, wanted) {
  const lines = createInterface({ input: stream });
  return new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      const found = wanted.exec(line);
      if (found) resolve(found[0]);
    });
    lines.once("close", () => reject(new Error(`the program ended before it printed ${wanted}`)));
  });
}
