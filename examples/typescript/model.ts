/** A model that runs nowhere: it calls the tool when it is asked to look, and else answers with what its prompt says. */

import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4Prompt } from "@ai-sdk/provider";

const NO_TOKENS = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
const usage = { inputTokens: NO_TOKENS, outputTokens: { total: undefined, text: undefined, reasoning: undefined } };

export function scriptedModel(): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "example",
    modelId: "scripted",
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const content = answer(prompt);
      const unified = content.some((part) => part.type === "tool-call") ? "tool-calls" : "stop";
      return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
    },
    async doStream() {
      throw new Error("this model does not stream");
    },
  };
}

function answer(prompt: LanguageModelV4Prompt): LanguageModelV4Content[] {
  const last = prompt.at(-1);
  if (last?.role === "tool") return [{ type: "text", text: JSON.stringify(last.content) }];
  const lines = prompt.flatMap(textOf).flatMap((text) => text.split("\n"));
  const question = lines.at(-1) ?? "";
  if (question.startsWith("look at ")) {
    const input = JSON.stringify({ machine: question.slice("look at ".length) });
    return [{ type: "tool-call", toolCallId: `call-${lines.length}`, toolName: "status", input }];
  }
  const wanted = new Set(question.toLowerCase().match(/\w{4,}/g));
  const known = lines
    .slice(0, -1)
    .find((line) => [...wanted].filter((word) => line.toLowerCase().includes(word)).length > 1);
  return [{ type: "text", text: question.endsWith("?") ? (known ?? "I do not know.") : "I see." }];
}

function textOf({ content }: LanguageModelV4Prompt[number]): string[] {
  if (typeof content === "string") return [content];
  return content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}
