// Starts the real program on a store of its own.

import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
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
 * A store with a session of `turns` turns, named `work`, and two memories; the server on it.
 * @param {number} turns
 * @param {(server: { enter: string, origin: string, run: (...args: string[]) => string }) => Promise<void>} check
 */
export async function withNeap(turns, check) {
  const folder = await mkdtemp(join(tmpdir(), "neap-page-"));
  const run = (/** @type {string[]} */ ...args) => execFileSync(PROGRAM, ["--data-dir", folder, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  let server;
  try {
    if (turns > 0) {
      const file = join(folder, "script.jsonl");
      await writeFile(file, script(turns));
      run("lab", "replay", file, "--session", "work", "--set", "context_tokens_max=8000");
      run("remember", "Staging runs PostgreSQL 16");
      run("remember", "<script>document.title='owned'</script> is what a page must not run");
    }
    server = spawn(PROGRAM, ["--data-dir", folder, "ui", "--listen", "127.0.0.1:0", "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
    const enter = await firstLine(server);
    await check({ enter, origin: new URL(enter).origin, run });
  } finally {
    if (server && server.exitCode === null) {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill();
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {import("node:child_process").ChildProcess} child @returns {Promise<string>} */
async function firstLine(child) {
  if (!child.stdout) throw new Error("the program has no output");
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error("the program ended before it printed its link");
}
