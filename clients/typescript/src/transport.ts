/** Sends calls below `fetch`, which changes names made of dots and does not say whether a request left. */

import http from "node:http";
import https from "node:https";

import type { Call } from "./call.js";
import type { Address } from "./server.js";
import { VERSION } from "./version.js";

/** The server writes one thing at a time: more at once make each other wait, and the last ones long. */
const CONNECTIONS_MAX = 8;
/** Between two parts of an answer that comes in lines; events have a comment every 15 seconds. */
const SILENCE_MS_MAX = 45_000;
const POOLED = { keepAlive: true, maxSockets: CONNECTIONS_MAX, maxFreeSockets: CONNECTIONS_MAX };

/** Why there is no whole answer: nothing listens, the server is too slow, or the connection broke. */
export type FailureKind = "refused" | "unsent" | "late" | "broken";

export class TransportFailure extends Error {
  constructor(
    readonly kind: FailureKind,
    cause: Error,
  ) {
    super(cause.message || String(Reflect.get(cause, "code")), { cause });
  }
}

export interface Answer {
  readonly status: number;
  readonly content: string;
}

/** Connections that are used again. */
export class Pool {
  readonly #http = new http.Agent(POOLED);
  readonly #https = new https.Agent(POOLED);
  readonly #waiting: Array<() => void> = [];
  #free = CONNECTIONS_MAX;

  /**
   * Acts when a connection is free. Whoever waits here has not begun, and does not notice a server that ends; what is
   * done again goes before.
   */
  async turn<Result>(isAgain: boolean, act: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((go) => (isAgain ? this.#waiting.unshift(go) : this.#waiting.push(go)));
    try {
      return await act();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  async send(call: Call<unknown>, address: Address, timeoutMs: number): Promise<Answer> {
    const agent = address.api.protocol === "https:" ? this.#https : this.#http;
    const answer = await begin(call, address, timeoutMs, agent);
    return { status: answer.statusCode ?? 0, content: await whole(answer) };
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

/** An answer whose parts are read as they arrive, over a connection of its own. */
export function open(call: Call<unknown>, address: Address): Promise<http.IncomingMessage> {
  return begin(call, address, SILENCE_MS_MAX, false);
}

/** The text of an answer. */
export async function whole(answer: http.IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of partsOf(answer)) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

export async function* partsOf(answer: http.IncomingMessage): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const part of answer as AsyncIterable<Uint8Array>) yield part;
  } catch (error) {
    throw failureOf(error);
  }
  if (!answer.complete) throw new TransportFailure("broken", new Error("the answer broke off"));
}

function begin(
  call: Call<unknown>,
  { api, key }: Address,
  timeoutMs: number,
  agent: http.Agent | false,
): Promise<http.IncomingMessage> {
  const headers: Record<string, string> = {
    Authorization: `Bearer ${key}`,
    "User-Agent": `neap-typescript/${VERSION}`,
    ...call.headers,
  };
  if (call.content !== undefined) {
    headers["Content-Type"] = "application/json";
    headers["Content-Length"] = String(Buffer.byteLength(call.content));
  }
  return new Promise((resolve, reject) => {
    const request = (api.protocol === "https:" ? https : http).request({
      host: api.hostname.replace(/^\[|\]$/g, ""),
      port: api.port,
      method: call.method,
      path: api.pathname + call.path,
      headers,
      agent,
      timeout: timeoutMs,
    });
    request.on("timeout", () => request.destroy(new LateError(`nothing came for ${timeoutMs / 1000} s`)));
    request.on("error", (error) => reject(failureOf(error)));
    request.on("response", resolve);
    request.end(call.content);
  });
}

class LateError extends Error {}

const UNSENT = new Set(["ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);

function failureOf(error: unknown): TransportFailure {
  if (error instanceof TransportFailure) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  if (cause instanceof LateError) return new TransportFailure("late", cause);
  const code = String(Reflect.get(cause, "code"));
  if (code === "ECONNREFUSED") return new TransportFailure("refused", cause);
  return new TransportFailure(UNSENT.has(code) ? "unsent" : "broken", cause);
}
