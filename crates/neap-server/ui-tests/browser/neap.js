// Starts the real program on a store of its own.

import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
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
 * @typedef {object} Server
 * @property {string} enter the link that lets one browser in
 * @property {string} origin
 * @property {string} token of the local user
 * @property {string} folder of the store
 * @property {(...args: string[]) => string} run the program on the same store
 * @property {(user: string, session?: string) => void} record another program adds a turn to a session, else to `talk`
 * @property {(method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<any>} call the API with the local user's token
 */

/**
 * A store with a session of `turns` turns, named `talk`, and two memories; the server on it.
 * @param {number} turns
 * @param {(server: Server) => Promise<void>} check
 */
export function withNeap(turns, check) {
  return withServer((run, replay) => {
    if (turns === 0) return;
    replay("talk", script(turns));
    run("remember", "Staging runs PostgreSQL 16");
    run("remember", "<script>document.title='owned'</script> is what a page must not run");
  }, check);
}

/**
 * The server on a store of its own.
 * @param {(run: Server["run"], replay: (session: string, lines: string) => void) => void} fill before it starts
 * @param {(server: Server) => Promise<void>} check
 */
export async function withServer(fill, check) {
  await withStore(async (folder, run) => {
    fill(run, (session, lines) => replay(folder, session, lines, "--set", "context_tokens_max=8000"));
    const server = spawn(PROGRAM, ["--data-dir", folder, "ui", "--listen", "127.0.0.1:0", "--no-open"], { stdio: ["ignore", "pipe", "ignore"] });
    await untilEnd(server, async () => {
      const enter = await firstMatch(server.stdout, /^http:\S+/u);
      const { origin } = new URL(enter);
      const token = await apiToken(folder);
      const record = (/** @type {string} */ user, session = "talk") => replay(folder, session, JSON.stringify({ user, calls: [], assistant: "Noted." }));
      const call = async (/** @type {string} */ method, /** @type {string} */ path, /** @type {unknown} */ body, headers = {}) => {
        const answer = await fetch(`${origin}/api/v1${path}`, {
          method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers }, body: JSON.stringify(body),
        });
        const told = await answer.json();
        if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(told)}`);
        return told;
      };
      await check({ enter, origin, token, folder, run, record, call });
    });
  });
}

/** @param {string} folder @param {string} session @param {string} lines @param {...string} more */
function replay(folder, session, lines, ...more) {
  execFileSync(PROGRAM, ["--data-dir", folder, "lab", "replay", "-", "--session", session, ...more], { input: lines, stdio: ["pipe", "ignore", "inherit"] });
}

/** @param {string} folder */
async function apiToken(folder) {
  return (await readFile(join(folder, "keys", "api.token"), "utf8")).trim();
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
      await check({ origin, token: await apiToken(folder) });
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
