/** Every test speaks to the real program, that of NEAP_BIN or the one on the path, on a data folder of its own. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { TestContext } from "node:test";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { findProgram, Neap, type NeapOptions } from "neap";

/** Of the package, which the compiled tests lie in. */
export const PACKAGE: string = fileURLToPath(new URL("../", import.meta.url));
export const ROOT: string = join(PACKAGE, "../..");
export const PROGRAM: string = findProgram();

type Cleanup = () => unknown;
const cleanups = new WeakMap<TestContext, Cleanup[]>();

/** Does something after the test: what was begun last ends first. */
export function later(test: TestContext, cleanup: Cleanup): void {
  const known = cleanups.get(test);
  known?.push(cleanup);
  if (known !== undefined) return;
  const all = [cleanup];
  cleanups.set(test, all);
  test.after(async () => {
    for (const one of all.reverse()) await one();
  });
}

/** A folder that is gone after the test. */
export function folderFor(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "neap-test-"));
  later(test, () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A client that is closed after the test, and the data folder of its server. */
export async function start(
  test: TestContext,
  options: NeapOptions = {},
): Promise<{ neap: Neap; dataDir: string; program: string }> {
  const dataDir = options.dataDir ?? join(folderFor(test), "data");
  const neap = await Neap.connect({ program: PROGRAM, ...options, dataDir });
  later(test, () => neap.close());
  return { neap, dataDir, program: PROGRAM };
}

export function keyOf(dataDir: string, name = "api.token"): string {
  return readFileSync(join(dataDir, "keys", name), "utf8").trim();
}

/** Waits for a condition, however long a busy machine takes. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(`still waiting until ${what}`);
    await turnOfTheLoop();
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Stops a process: it neither ends nor does anything until it is told to continue. */
export async function stop(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  const states = (): string[] =>
    readdirSync(`/proc/${pid}/task`).map((task) => readFileSync(`/proc/${pid}/task/${task}/stat`, "utf8"));
  await until(() => states().every((state) => /\) T /.test(state)), "every thread has stopped");
}

export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}
