/** Questions about memories. */

import { ask, type Call, download, type Download, get, part } from "../call.js";
import type {
  Asked,
  Author,
  Expected,
  ExpectedRecall,
  Frame,
  Memory,
  MemoryErasure,
  MemoryHit,
  MemoryQuestion,
  MemoryStatus,
  Page,
  Pattern,
  Question,
  Recall,
  Trial,
  Version,
} from "../forms/index.js";
import type { Paging } from "./sessions.js";

export type MemoryKind = "decision" | "fact" | "procedure" | "episode" | "censor";
export type Trust = "low" | "medium" | "high";

/** Which memories a list has. */
export interface MemoryFilter {
  kind?: MemoryKind;
  status?: string;
  author?: Author;
  trust?: Trust;
  tag?: string;
  /** Words that the text has. */
  q?: string;
}

/** Memories, newest first. */
export function listMemories(options: Paging & MemoryFilter = {}): Call<Page<Memory>> {
  const { limit, cursor, kind, status, author, trust, tag, q } = options;
  return get("/memories", { limit, cursor, kind, status, author, trust, tag, q });
}

/** What models asked to forget. */
export function listAsked(options: Paging = {}): Call<Page<Asked>> {
  const { limit, cursor } = options;
  return get("/memories/asked", { limit, cursor });
}

/** Counts of memories. */
export function memoryStatus(): Call<MemoryStatus> {
  return get("/memories/status");
}

/** All memories. */
export function exportMemories(): Download<Record<string, unknown>> {
  return download("/memories/export");
}

/** The frames of the agent. */
export function listFrames(): Call<Page<Frame>> {
  return get("/memories/frames");
}

/** A memory. */
export function showMemory(id: string): Call<Memory> {
  return get(of(id));
}

/** The versions of a memory, oldest first. */
export function memoryHistory(id: string, options: Paging = {}): Call<Page<Version>> {
  const { limit, cursor } = options;
  return get(of(id, "/history"), { limit, cursor });
}

/** What a memory replaced and what replaced it, oldest first. */
export function memoryChain(id: string): Call<Page<Memory>> {
  return get(of(id, "/chain"));
}

/** What erasing a memory would take. */
export function previewMemoryErasure(id: string): Call<MemoryErasure> {
  return get(of(id, "/erasure"));
}

/** Search memories. */
export function recall(query?: string, options: Omit<Recall, "query"> = {}): Call<Page<MemoryHit>> {
  return ask("/memories/recall", { ...options, query });
}

/** Why a recall finds the memory `expected` or not. */
export function expectMemory(
  expected: string,
  query?: string,
  options: Omit<ExpectedRecall, "expect" | "query"> = {},
): Call<Expected> {
  return ask("/memories/expect", { ...options, query, expect: expected });
}

/** What would be recalled for a question: every candidate with its score, and why it is in or out. */
export function explainRecall(question: string, options: Omit<MemoryQuestion, "question"> = {}): Call<Question> {
  return ask("/memories/context", { ...options, question });
}

/** Whether a rule's pattern is found in a text. */
export function tryPattern(pattern: Pattern, text: string): Call<Trial> {
  return ask("/memories/try", { pattern, text });
}

export function of(id: string, rest = ""): string {
  return `/memories/${part(id)}${rest}`;
}
