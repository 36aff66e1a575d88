/** Makes the turn that a model is to answer fit: long results first, then whole rounds of tools, then long messages. */

import type { LanguageModelV4Message } from "@ai-sdk/provider";

import { estimateTokens, shortened } from "../host/tokens.js";
import { outputText, tokensOf } from "./messages.js";

/** A text below this stays whole. */
const TEXT_TOKENS_MIN = 100;

/** It still may not fit: what is left then are words of the person, in short, and the last round. */
export function shortenTurn(messages: LanguageModelV4Message[], tokensMax: number): LanguageModelV4Message[] {
  let turn = messages;
  for (const shorten of [shortenResults, shortenWords]) {
    for (let limit = tokensMax / 2; tokensOf(turn) > tokensMax && limit >= TEXT_TOKENS_MIN; limit /= 2) {
      turn = turn.map((message) => shorten(message, Math.floor(limit)));
    }
    while (tokensOf(turn) > tokensMax && rounds(turn).length > 1) turn = withoutFirstRound(turn);
  }
  return turn;
}

function shortenResults(message: LanguageModelV4Message, limit: number): LanguageModelV4Message {
  if (message.role !== "tool") return message;
  const content = message.content.map((part) => {
    if (part.type !== "tool-result") return part;
    const text = outputText(part.output);
    if (estimateTokens(text) <= limit) return part;
    return { ...part, output: { type: "text" as const, value: shortened(text, limit) } };
  });
  return { ...message, content };
}

function shortenWords(message: LanguageModelV4Message, limit: number): LanguageModelV4Message {
  if (message.role !== "user") return message;
  const content = message.content.map((part) =>
    part.type === "text" ? { ...part, text: shortened(part.text, limit) } : part,
  );
  return { ...message, content };
}

/** Where the model called tools: each call is sent with its results or not at all. */
function rounds(turn: readonly LanguageModelV4Message[]): number[] {
  return turn.flatMap((message, at) => (message.role === "assistant" ? [at] : []));
}

function withoutFirstRound(turn: LanguageModelV4Message[]): LanguageModelV4Message[] {
  const [first = 0, next = turn.length] = rounds(turn);
  return [...turn.slice(0, first), ...turn.slice(next)];
}
