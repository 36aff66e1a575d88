/** The client. */

import { setTimeout as pause } from "node:timers/promises";

import type { Call, Download } from "./call.js";
import { health } from "./calls/server.js";
import type { Page } from "./forms/index.js";
import { type Routes, routesOf, type Sender } from "./routes.js";
import { type Address, PREFIX, type Server, type ServerOptions, serverOf } from "./server.js";
import { open, partsOf, Pool, TransportFailure, whole } from "./transport.js";
import { Tries } from "./tries.js";
import { checkVersion } from "./version.js";

const TIMEOUT_MS = 60_000;

export interface NeapOptions extends ServerOptions {
  /** How long an answer may take. */
  timeoutMs?: number;
}

export interface Neap extends Routes {}

/**
 * A client of Neap, for any number of calls at a time.
 *
 * Without `baseUrl` it starts a server of its own at the first call, on the program's usual data folder unless
 * `dataDir` is given. That server ends with `close`, or with this process. With `baseUrl` and `key` it speaks to
 * a server that runs.
 */
export class Neap implements Sender {
  readonly #server: Server;
  readonly #timeoutMs: number;
  readonly #pool = new Pool();
  #checked: Address | undefined;

  constructor(options: NeapOptions = {}) {
    this.#server = serverOf(options);
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    Object.assign(this, routesOf(this));
  }

  /** A client whose server answers. */
  static async connect(options: NeapOptions = {}): Promise<Neap> {
    const client = new Neap(options);
    try {
      await client.health();
    } catch (error) {
      await client.close();
      throw error;
    }
    return client;
  }

  /** Where its server listens; starts it if need be. */
  async baseUrl(): Promise<string> {
    const { api } = await this.#server.address();
    return api.href.slice(0, -PREFIX.length);
  }

  /** Of the server that this client started, while it runs. */
  get serverPid(): number | undefined {
    return this.#server.pid;
  }

  /** Ends the connections, and the server if it is this client's own. */
  async close(): Promise<void> {
    this.#pool.close();
    await this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Makes a call; each route has a method here that does. */
  async send<Form>(call: Call<Form>): Promise<Form> {
    const tries = new Tries(call, this.#server);
    for (let isAgain = false; ; isAgain = true) {
      const attempt = (): Promise<{ form: Form } | number> =>
        this.#attempt(tries, async (address) => {
          const { status, content } = await this.#pool.send(call, address, this.#timeoutMs);
          return tries.afterAnswer(status) ?? { form: call.read(status, content) };
        });
      const wait = await this.#pool.turn(isAgain, attempt);
      if (typeof wait !== "number") return wait.form;
      await pause(wait);
    }
  }

  /** The items of an answer that comes in lines; events go on until the caller ends them. */
  async *read<Form>(download: Download<Form>): AsyncGenerator<Form, void, void> {
    const tries = new Tries(download, this.#server);
    let rest = download;
    for (;;) {
      const answer = await this.#attempt(tries, async (address) => open(rest, address));
      let wait = typeof answer === "number" ? answer : tries.afterAnswer(answer.statusCode ?? 0);
      if (typeof answer !== "number" && wait === undefined) {
        try {
          if (answer.statusCode !== 200) rest.read(answer.statusCode ?? 0, await whole(answer));
          const reader = rest.reader();
          for await (const part of partsOf(answer)) {
            for (const item of reader.feed(part) as Form[]) {
              rest = tries.afterItem(rest, item);
              yield item;
            }
          }
          if (!rest.isEndless) return;
          wait = tries.afterEnd();
        } catch (error) {
          if (!(error instanceof TransportFailure)) throw error;
          wait = await tries.afterFailure(error);
        } finally {
          answer.destroy();
        }
      }
      await pause(wait);
    }
  }

  /** All items of a list, page after page: `neap.each((cursor) => neap.listTurns("auth", { cursor }))`. */
  async *each<Item>(list: (cursor: string | undefined) => Promise<Page<Item>>): AsyncGenerator<Item, void, void> {
    let cursor: string | undefined;
    do {
      const page = await list(cursor);
      yield* page.items;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  /** What `act` gives, or the pause before the next try. */
  async #attempt<Result>(tries: Tries, act: (address: Address) => Promise<Result>): Promise<Result | number> {
    try {
      const address = await this.#server.address();
      tries.begin(address);
      if (address !== this.#checked) {
        const { status, content } = await this.#pool.send(health(), address, this.#timeoutMs);
        checkVersion(status, content);
        this.#checked = address;
      }
      tries.send();
      return await act(address);
    } catch (error) {
      if (!(error instanceof TransportFailure)) throw error;
      return tries.afterFailure(error);
    }
  }
}
