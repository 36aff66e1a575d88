/** A turn of a conversation that the host holds: a user message and everything that answers it. */

import { createHash } from "node:crypto";

import type { NewMessages } from "../forms/index.js";

export type RecordedMessage = NewMessages["messages"][number];

export interface HostTurn {
  /** The same for the same turn, also in another process. */
  readonly key: string;
  readonly tokens: number;
  /** As it is recorded. */
  readonly messages: readonly RecordedMessage[];
}

/**
 * Keys of turns by what was asked and what was answered in the end: hosts leave out the calls of tools in between. The
 * second of two equal turns has another key than the first.
 */
export function keysOf(turns: ReadonlyArray<readonly RecordedMessage[]>): string[] {
  const seen = new Map<string, number>();
  return turns.map((messages) => {
    const asked = messages.filter((message) => message.role === "user").map((message) => message.content.trim());
    const answered = messages.findLast((message) => message.role === "assistant" && message.content.trim() !== "");
    const key = digest(JSON.stringify([asked, answered?.content.trim()]));
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    return count === 1 ? key : `${key}-${count}`;
  });
}

export function digest(text: string): string {
  return createHash("sha256").update(text.toWellFormed()).digest("hex").slice(0, 32);
}
