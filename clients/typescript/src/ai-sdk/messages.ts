/** A prompt of the AI SDK, in the turns of its conversation. */

import type {
  LanguageModelV4Content,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";

import { estimateTokens, messageTokens } from "../host/tokens.js";
import { type HostTurn, keysOf, type RecordedMessage } from "../host/turn.js";

/** What a picture or file takes, which cannot be estimated from its bytes. */
const FILE_TOKENS = 1600;

export interface Conversation {
  /** What stands before the first turn. */
  readonly system: LanguageModelV4Message[];
  /** Turns that are over. */
  readonly turns: PromptTurn[];
  /** The turn that the model is to answer. */
  readonly current: LanguageModelV4Message[];
}

export interface PromptTurn extends HostTurn {
  readonly prompt: LanguageModelV4Message[];
}

type UserPart = Extract<LanguageModelV4Message, { role: "user" }>["content"][number];
type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];
type ToolPart = Extract<LanguageModelV4Message, { role: "tool" }>["content"][number];
type Part = UserPart | AssistantPart | ToolPart;

export function conversationOf(prompt: LanguageModelV4Prompt): Conversation {
  const begins = prompt.flatMap((message, at) =>
    message.role === "user" && prompt[at - 1]?.role !== "user" ? [at] : [],
  );
  const parts = begins.map((begin, at) => prompt.slice(begin, begins[at + 1]));
  const current = parts.pop() ?? [];
  const keys = keysOf(parts.map(recorded));
  const turns = parts.map((part, at) => ({
    key: keys[at] ?? "",
    tokens: tokensOf(part),
    messages: recorded(part),
    prompt: part,
  }));
  return { system: prompt.slice(0, begins[0] ?? prompt.length), turns, current };
}

/** The key that a turn has once it is over: as in the next prompt. */
export function finishedTurn(turns: readonly PromptTurn[], messages: RecordedMessage[]): HostTurn {
  const key = keysOf([...turns.map((turn) => turn.messages), messages]).at(-1) ?? "";
  return { key, tokens: 0, messages };
}

export function tokensOf(messages: readonly LanguageModelV4Message[]): number {
  return messages.reduce((total, message) => {
    if (message.role === "system") return total + messageTokens([message.content]);
    const parts: readonly Part[] = message.content;
    return total + parts.reduce((sum, part) => sum + partTokens(part), messageTokens([]));
  }, 0);
}

function partTokens(part: Part): number {
  if (part.type === "file" || part.type === "reasoning-file") return FILE_TOKENS;
  if (part.type === "tool-result" && part.output.type === "content") {
    return part.output.value.reduce(
      (sum, one) => sum + (one.type === "text" ? estimateTokens(one.text) : FILE_TOKENS),
      messageTokens([part.toolName]),
    );
  }
  return estimateTokens(JSON.stringify(part));
}

/** What a person or program said last. */
export function questionOf(messages: readonly LanguageModelV4Message[]): string {
  return recorded(messages)
    .filter((message) => message.role === "user")
    .map((message) => message.content)
    .join("\n");
}

/** As messages that are stored: words, calls and results. What a model thought stays with the host. */
export function recorded(messages: readonly LanguageModelV4Message[]): RecordedMessage[] {
  return messages.flatMap((message): RecordedMessage[] => {
    if (message.role === "system") return [];
    if (message.role === "user") return [{ role: "user", content: message.content.map(words).join("\n") }];
    return recordedParts(message.content);
  });
}

/** The same of a model's answer. */
export function recordedReply(content: readonly LanguageModelV4Content[]): RecordedMessage[] {
  return recordedParts(content);
}

function recordedParts(parts: ReadonlyArray<Part | LanguageModelV4Content>): RecordedMessage[] {
  const content = parts.flatMap((part) => (part.type === "text" || part.type === "file" ? [words(part)] : [])).join("");
  const calls = parts.flatMap((part) =>
    part.type === "tool-call" ? [{ id: part.toolCallId, name: part.toolName, arguments: argumentsOf(part.input) }] : [],
  );
  const results = parts.flatMap((part): RecordedMessage[] =>
    part.type === "tool-result" ? [{ role: "tool", content: resultText(part), tool_call_id: part.toolCallId }] : [],
  );
  if (content === "" && calls.length === 0) return results;
  const said: RecordedMessage = { role: "assistant", content };
  return [calls.length > 0 ? { ...said, tool_calls: calls } : said, ...results];
}

function words(part: { type: string; text?: string; mediaType?: string; filename?: string | undefined }): string {
  if (part.type === "text") return part.text ?? "";
  return `[${[part.mediaType ?? "file", part.filename].filter((one) => one !== undefined).join(" ")}]`;
}

/** A prompt has what a model called a tool with as an object, its answer has it as text. */
function argumentsOf(input: unknown): string {
  if (typeof input !== "string") return JSON.stringify(input) ?? "";
  try {
    return JSON.stringify(JSON.parse(input));
  } catch {
    return input;
  }
}

function resultText(part: { output: LanguageModelV4ToolResultOutput } | { result: unknown }): string {
  if ("result" in part) return typeof part.result === "string" ? part.result : (JSON.stringify(part.result) ?? "");
  return outputText(part.output);
}

export function outputText(output: LanguageModelV4ToolResultOutput): string {
  if (output.type === "text" || output.type === "error-text") return output.value;
  if (output.type === "json" || output.type === "error-json") return JSON.stringify(output.value);
  if (output.type === "execution-denied") return `denied${output.reason === undefined ? "" : `: ${output.reason}`}`;
  return output.value.map((one) => (one.type === "text" ? one.text : `[${one.type}]`)).join("\n");
}
