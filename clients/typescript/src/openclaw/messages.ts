/** Messages of OpenClaw, in the turns of their conversation. */

import { estimateTokens, messageTokens } from "../host/tokens.js";
import { type HostTurn, keysOf, type RecordedMessage } from "../host/turn.js";
import type { AgentMessage } from "./contract.js";

/** What a picture takes, which cannot be estimated from its bytes. */
const IMAGE_TOKENS = 1600;

export interface AgentTurn<Message> extends HostTurn {
  readonly sent: readonly Message[];
}

/** The turns of a history; what stands before the first user message belongs to the first. */
export function turnsOf<Message extends AgentMessage>(history: readonly Message[]): Array<AgentTurn<Message>> {
  const begins = history.flatMap((message, at) =>
    message.role === "user" && history[at - 1]?.role !== "user" ? [at] : [],
  );
  const parts = begins.map((begin, at) => history.slice(at === 0 ? 0 : begin, begins[at + 1]));
  const words = parts.map(recorded);
  const keys = keysOf(words);
  return parts.map((sent, at) => ({
    // The host's own id for the turn, if it gave one.
    key: hostKey(sent) ?? keys[at] ?? "",
    tokens: sent.reduce((total, message) => total + tokensOf(message), 0),
    messages: words[at] ?? [],
    sent,
  }));
}

/** As OpenClaw gives it to the user message of an admitted turn: the key of its advancement, and a suffix. */
function hostKey(messages: readonly AgentMessage[]): string | undefined {
  const begun = messages.find((message) => message.role === "user");
  const key: unknown = begun === undefined ? undefined : Reflect.get(begun, "idempotencyKey");
  return typeof key === "string" ? turnKey(key.replace(/:user$/, "")) : undefined;
}

export function turnKey(advancementKey: string): string {
  return `openclaw-${advancementKey}`.replace(/[^\x21-\x7e]/g, "_").slice(0, KEY_CHARS_MAX);
}

const KEY_CHARS_MAX = 120;

/** As messages that are stored: words, calls and results. What a model thought stays with the host. */
export function recorded(messages: readonly AgentMessage[]): RecordedMessage[] {
  return messages.flatMap((message): RecordedMessage[] => {
    const content = textOf(message);
    if (message.role === "user") return [{ role: "user", content }];
    if (message.role === "toolResult") {
      return [{ role: "tool", content, tool_call_id: stringField(message, "toolCallId") }];
    }
    if (message.role !== "assistant") return [];
    const calls = blocksOf(message).flatMap((block) =>
      block["type"] === "toolCall"
        ? [{ id: stringField(block, "id"), name: stringField(block, "name"), arguments: json(block["arguments"]) }]
        : [],
    );
    if (content === "" && calls.length === 0) return [];
    return [calls.length > 0 ? { role: "assistant", content, tool_calls: calls } : { role: "assistant", content }];
  });
}

export function tokensOf(message: AgentMessage): number {
  if (typeof message.content === "string") return messageTokens([message.content]);
  return blocksOf(message).reduce(
    (total, block) => total + (block["type"] === "image" ? IMAGE_TOKENS : estimateTokens(json(block))),
    messageTokens([]),
  );
}

export function textOf(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  const texts = blocksOf(message).map((block) => {
    if (block["type"] === "text") return stringField(block, "text");
    return block["type"] === "image" ? `[${stringField(block, "mimeType") || "image"}]` : "";
  });
  return texts.filter((text) => text !== "").join("\n");
}

function blocksOf(message: AgentMessage): Array<Record<string, unknown>> {
  if (!Array.isArray(message.content)) return [];
  const blocks: unknown[] = message.content;
  return blocks.flatMap((block) => (typeof block === "object" && block !== null ? [{ ...block }] : []));
}

function stringField(value: object, name: string): string {
  const field: unknown = Reflect.get(value, name);
  return typeof field === "string" ? field : "";
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? "";
}
