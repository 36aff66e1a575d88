/** The process of an embedded server. It ends with this one, however that ends: it waits for its input to close. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

import { fieldsOf, type NeapError, ServerUnavailable, VersionMismatch } from "./errors.js";

const START_MS_MAX = 30_000;
const END_MS_MAX = 10_000;
const ARGUMENTS = ["ui", "--listen=127.0.0.1:0", "--no-open", "--until-stdin-closes", "--json"];
const LOG_CHARS_MAX = 500;

type Child = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };

export class ServerProcess {
  private constructor(
    readonly child: Child,
    readonly api: string,
    private readonly keyFile: string,
    private readonly log: Log,
  ) {}

  static async start(program: string, options: readonly string[]): Promise<ServerProcess> {
    const log = new Log();
    const child = spawn(program, [...options, ...ARGUMENTS], {
      stdio: ["pipe", "pipe", log.descriptor],
      // Ctrl-C is this process's to handle.
      detached: true,
    }) as Child;
    // What is written to a server that ended is nobody's loss.
    child.stdin.on("error", () => undefined);
    try {
      const { api, token_file: keyFile } = fieldsOf(await firstLine(child));
      if (typeof api === "string" && typeof keyFile === "string") {
        letThisProcessEnd(child);
        return new ServerProcess(child, api, keyFile, log);
      }
      throw await startError(child, log);
    } catch (error) {
      child.kill("SIGKILL");
      log.remove();
      throw error;
    }
  }

  async readKey(): Promise<string> {
    return (await readFile(this.keyFile, "ascii")).trim();
  }

  hasEnded(): boolean {
    return hasEnded(this.child);
  }

  /** Ends it once the requests in flight are answered. */
  async end(): Promise<void> {
    this.letGo();
    if (this.hasEnded()) return;
    this.child.ref();
    const late = setTimeout(() => this.child.kill("SIGKILL"), END_MS_MAX);
    await once(this.child, "exit");
    clearTimeout(late);
  }

  /** Tells it to end, and does not wait. */
  letGo(): void {
    this.log.remove();
    this.child.stdin.destroy();
    this.child.stdout.destroy();
  }
}

/** What the server says on its standard error, in a file: a pipe would fill up when nobody reads it. */
class Log {
  readonly #folder = mkdtempSync(join(tmpdir(), "neap-log-"));
  readonly #file = join(this.#folder, "log");
  readonly descriptor = openSync(this.#file, "w+", 0o600);
  #isRemoved = false;

  read(): string {
    return readFileSync(this.#file, "utf8").trim();
  }

  remove(): void {
    if (this.#isRemoved) return;
    this.#isRemoved = true;
    closeSync(this.descriptor);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function hasEnded(child: Child): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** The server would otherwise keep this process running. */
function letThisProcessEnd(child: Child): void {
  child.unref();
  for (const pipe of [child.stdin, child.stdout]) {
    if ("unref" in pipe && typeof pipe.unref === "function") pipe.unref();
  }
}

/** Empty if it ended before it said one. */
function firstLine(child: Child): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const late = setTimeout(() => child.kill("SIGKILL"), START_MS_MAX);
    const done = (line: string): void => {
      clearTimeout(late);
      child.stdout.removeAllListeners().pause();
      resolve(line);
    };
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text: string) => {
      said += text;
      const end = said.indexOf("\n");
      if (end >= 0) done(said.slice(0, end));
    });
    child.stdout.on("end", () => done(said));
    child.on("error", (error) => {
      clearTimeout(late);
      const message = `cannot start ${child.spawnfile}: ${error.message}`;
      reject(new ServerUnavailable(message, "check that it is Neap's program", error));
    });
  });
}

async function startError(child: Child, log: Log): Promise<NeapError> {
  child.stdin.destroy();
  child.stdout.destroy();
  if (!hasEnded(child)) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  const said = log.read();
  if (said.includes("--until-stdin-closes")) {
    return new VersionMismatch(
      "the program is older than this package",
      "update the program, or name another: new Neap({ program })",
    );
  }
  const ended = `the server ended before it was ready (exit status ${child.exitCode ?? child.signalCode})`;
  return new ServerUnavailable(`${ended}: ${said.slice(-LOG_CHARS_MAX)}`, "run `neap ui` by hand to see what it says");
}
