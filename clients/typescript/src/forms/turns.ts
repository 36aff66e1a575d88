/** Forms of turns. Written by tools/forms.mjs. */

import type { Clipped } from "./server.js";
import type { Cost, RequestCost, TokenUsage } from "./sessions.js";

export interface Appended {
  recorded: number;
  turn: number;
}

export type Author = "person" | "model" | "tool" | "import";

export interface Block {
  block: number;
  cached: boolean;
  chars: number;
  layer: string | null;
  offset: number;
  role: "system" | "user" | "assistant" | "tool" | "tools";
  text: string;
  tokens: number;
  turn: number | null;
  why: string;
}

export interface Change {
  at: number;
  cause: string | Record<string, unknown> | null;
  ids: string[];
  kind: string;
  seq: number;
  tokens: number | null;
  turn: number | null;
}

export interface Diff {
  blocks: Array<{
    block: number;
    change: "same" | "added" | "removed";
    layer: string | null;
    role: string;
    text: string;
    tokens: number;
  }>;
  clipped?: Clipped;
  exact: boolean;
  from: number;
  same_tokens: number;
  to: number;
}

export type EpochCause = "first" | "full" | "expired" | "cheaper" | "turns_over";

export interface Exchange {
  at: number;
  clipped?: Clipped;
  messages: Message[];
  turn: number;
}

/** Tokens by layer; layers without tokens are missing. */
export type LayerTokens = Record<string, number>;

export interface Ledger {
  budget: number;
  cost?: Cost;
  epoch_since?: number;
  evicted?: number;
  logs?: LogShown[];
  memories?: string[];
  memories_used?: string[];
  model?: string;
  naive_tokens: number;
  rounds_left_out?: number;
  summaries?: string[];
  summaries_over_budget?: string[];
  summaries_over_budget_count?: number;
  tokens: LayerTokens;
}

export interface LoadedItem {
  id: string;
  micro?: boolean;
  score: number;
  similarity: number;
  tokens: number;
}

export interface LogShown {
  excerpted?: boolean;
  exchanges: number;
  from?: number;
  in_short?: string;
  layer: string;
  left_out?: number;
  scope: Scope;
  tokens: number;
}

export interface MemoryLoad {
  budget: number;
  cause: string;
  considered: number;
  frame: string;
  frame_confidence: number;
  items: LoadedItem[];
  tokens: number;
}

export interface Message {
  content: string;
  incomplete?: string | Record<string, unknown>;
  name?: string;
  role: Role;
  tokens?: number;
  tool_call_id?: string;
  tool_calls?: ToolCall[];
}

export interface NewMessages {
  author?: Author | null;
  messages: Array<{
    at?: number | null;
    content: string;
    name?: string | null;
    role: Role;
    tool_call_id?: string | null;
    tool_calls?: ToolCall[];
  }>;
}

export interface NewTurn {
  at?: number | null;
  author?: Author | null;
  message: string;
  reply: string;
}

export interface Prompt {
  blocks: Block[];
  budget: number | null;
  cached_tokens: number;
  clipped?: Clipped;
  exact: boolean;
  kind: "assembled" | "forwarded" | "recorded";
  layers: Array<{
    layer: string;
    tokens: number;
  }>;
  next: number | null;
  note: string | null;
  requests: RequestAccount[];
  tokens_total: number;
  turn: number;
}

export interface RecordedTurn {
  banners: string[];
  clipped?: Clipped;
  ledger: Ledger;
  refusals: string[];
  scope: Scope;
  text: string;
  turn: number;
}

export interface RequestAccount {
  changes: number;
  class: string;
  cost?: RequestCost;
  counted_by?: string;
  epoch: number;
  is_whole: boolean;
  model?: string;
  tokens_in: number;
  tokens_sent: number;
  used?: TokenUsage;
  verdict?: string;
}

export type Role = "system" | "user" | "assistant" | "tool";

export type Scope = "ambient" | {
  effort: string;
};

export interface SeriesRow {
  at: number;
  budget: number | null;
  clipped?: Clipped;
  cost: Cost | null;
  epoch_since: number | null;
  naive_tokens: number | null;
  requests: RequestAccount[];
  rewritten: EpochCause | null;
  state: "completed" | "recorded" | "abandoned" | "pending" | "taken_back";
  tokens: LayerTokens | null;
  tokens_total: number | null;
  turn: number;
}

export interface ToolCall {
  arguments: string;
  id: string;
  name: string;
}

export interface ToolRound {
  assistant: Message;
  notes?: Message[];
  results: Message[];
  seals?: Array<Record<string, unknown>>;
}

export interface Turn {
  abandoned: string | null | Record<string, unknown>;
  author?: Author;
  chosen?: {
    loaded: MemoryLoad;
    turn: number;
  };
  clipped?: Clipped;
  epoch_cause?: EpochCause;
  happened: Array<Record<string, unknown>>;
  incomplete?: string | Record<string, unknown>;
  ledger: Ledger | null;
  message: string | null;
  reply: string | null;
  rounds: ToolRound[];
  scope: Scope | null;
  turn: number;
}

export interface TurnRow {
  at: number;
  budget: number | null;
  clipped?: Clipped;
  cost: Cost | null;
  epoch_since: number | null;
  happened: string[];
  message: string;
  naive_tokens: number | null;
  requests: RequestAccount[];
  rewritten: EpochCause | null;
  scope: Scope | null;
  state: "completed" | "recorded" | "abandoned" | "pending" | "taken_back";
  tokens: LayerTokens | null;
  tokens_total: number | null;
  turn: number;
}
