/** Forms of sessions. Written by tools/forms.mjs. */

import type { Clipped } from "./server.js";
import type { Role } from "./turns.js";

export interface Brief {
  budget: number;
  clipped?: Clipped;
  text: string;
  tokens: number;
}

export interface ContextQuestion {
  budget?: number | null;
  question?: string | null;
}

export interface Cost {
  cached: number;
  calls: number;
  nanodollars: number;
  output: number;
  sent: number;
}

export interface Effort {
  active: boolean;
  clipped?: Clipped;
  exchanges: number;
  expanded: boolean;
  expansion_cost_tokens: number | null;
  id: string;
  last_referenced_turn: number;
  name: string;
  place: "active" | "open" | "expanded" | "shown" | "evicted";
  raw_tokens: number;
  status: "open" | "concluded";
  summary: string | null;
  summary_tokens: number | null;
}

export interface EntriesAppended {
  recorded: number;
  seq: number;
}

export interface Erased {
  erased: boolean;
  events: number;
  session: string;
}

/** As `neap session export` writes it. */
export interface Event {
  at: number;
  clipped?: Clipped;
  event: Record<string, unknown>;
  seq: number;
}

export interface Kept {
  changed?: Array<{
    from: string;
    kind: string;
    to: string;
  }>;
  handle?: string;
  kinds?: Record<string, {
    found: number;
    missing: number;
    recoverable: number;
    retained: number;
  }>;
  missing?: Array<{
    kind: string;
    value: string;
  }>;
  recoverable?: Array<{
    kind: string;
    value: string;
  }>;
  repaired?: Array<{
    from: string;
    kind: string;
    to: string;
  }>;
}

export interface LogSize {
  exchanges: number;
  tokens: number;
}

export interface ModelTotals {
  cached: number;
  calls: number;
  dollars: number | null;
  model: string;
  output: number;
  sent: number;
  untouched_dollars: number | null;
}

export interface NewEffort {
  name: string;
}

export interface NewEntries {
  entries: string[];
}

export interface Original {
  chars: number;
  clipped?: Clipped;
  handle: string;
  messages: Array<{
    chars: number;
    role: Role;
  }>;
  next: number | null;
  offset: number;
  text: string;
}

/** All settings, as `neap store settings` lists them. */
export type Policy = Record<string, unknown>;

export interface ProjectTotals {
  cached: number;
  dollars: number;
  output: number;
  project: string | null;
  sent: number;
  sessions: number;
  turns: number;
  untouched_dollars: number;
}

export interface Receipt {
  at: number;
  clipped?: Clipped;
  kind: "conclusion" | "compaction" | "merge" | "client";
  of: string;
  receipt?: Kept;
  source_tokens: number;
  summary_tokens: number;
  turn: number;
}

export interface Report {
  auto_collapses: number;
  avg_expansion_duration: number | null;
  cached_share: number;
  compactions: number;
  context_tokens: number;
  context_tokens_peak: number;
  cost: Cost;
  efforts: {
    evicted: number;
    expanded: number;
    open: number;
    shown: number;
  };
  epochs: number;
  evictions: number;
  expansion_overhead: number;
  expansion_tokens: number;
  false_decay_rate: number | null;
  manual_collapses: number;
  manual_vs_auto_collapse: number | null;
  memories: Record<string, unknown>;
  passed?: RequestTotals;
  price_dollars: number;
  saved_dollars?: number | null;
  savings_vs_naive: Savings;
  savings_vs_naive_all_turns: Savings;
  tokens_saved_by_decay: number;
  turns: number;
}

export interface RequestCost {
  sent_nanodollars: number;
  untouched_nanodollars: number;
}

export interface RequestTotals {
  broken_off: number;
  changed: number;
  cost?: RequestCost;
  priced?: number;
  requests: number;
  tokens_in: number;
  tokens_sent: number;
  used: TokenUsage;
}

export interface Savings {
  of_variable: number;
  of_whole: number;
  tokens: number;
}

export interface Session {
  cost?: Cost;
  created: number;
  efforts: number;
  events: number;
  models?: Record<string, Spending>;
  passed?: RequestTotals;
  project?: string;
  scrubbed: boolean;
  session: string;
  turns: number;
  updated: number;
}

export interface SessionDetail {
  active: string | null;
  all_logs: LogSize;
  ambient: LogSize;
  created: number;
  encoding: string;
  policy: Policy;
  report: Report;
  session: string;
  turns: number;
  updated: number;
}

export interface SessionErasure {
  efforts: number;
  erased: boolean;
  session: string;
  turns: number;
}

export interface SessionReport {
  agent: {
    confirmation_rate: number | null;
    growth_per_day: number | null;
    records: number;
  };
  auto_collapses: number;
  avg_expansion_duration: number | null;
  cached_share: number;
  compactions: number;
  context_tokens: number;
  context_tokens_peak: number;
  cost: Cost;
  efforts: {
    evicted: number;
    expanded: number;
    open: number;
    shown: number;
  };
  epochs: number;
  evictions: number;
  expansion_overhead: number;
  expansion_tokens: number;
  false_decay_rate: number | null;
  manual_collapses: number;
  manual_vs_auto_collapse: number | null;
  memories: Record<string, unknown>;
  memory_metrics: Array<{
    met: boolean | null;
    name: string;
    target: string;
    value: number | null;
  }>;
  passed?: RequestTotals;
  price_dollars: number;
  saved_dollars?: number | null;
  savings_vs_naive: Savings;
  savings_vs_naive_all_turns: Savings;
  session: string;
  tokens_saved_by_decay: number;
  turns: number;
}

export interface Settings {
  set?: Record<string, string>;
}

export interface Spending {
  cached: number;
  calls: number;
  nanodollars: number;
  output: number;
  priced: number;
  sent: number;
  untouched_nanodollars: number;
}

export interface StoreReport {
  cost: Cost;
  models: ModelTotals[];
  passed: RequestTotals;
  price_dollars: number;
  projects: ProjectTotals[];
  saved_dollars: number | null;
  sessions: number;
  turns: number;
}

export interface TokenUsage {
  cache_written?: number;
  cached: number;
  input: number;
  output: number;
}

export interface ToolReply {
  banner: string | null;
  clipped?: Clipped;
  refusal: string | null;
  text: string;
}
