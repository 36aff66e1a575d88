/** Forms of memories. Written by tools/forms.mjs. */

import type { Clipped } from "./server.js";
import type { Author, LayerTokens, LoadedItem } from "./turns.js";

export interface Asked {
  clipped?: Clipped;
  id: string;
  memory: Memory;
  reason: string;
}

export type Body = {
  alternatives?: string[];
  category?: string;
  confidence: number;
  context?: string;
  description: string;
  kind: "decision";
  outcome: "pending" | "success" | "partial" | "failure";
  outcome_notes?: string;
  reasons?: Array<{
    kind: string;
    text: string;
  }>;
  rests_on?: string[];
  reviewed_by?: Author;
  stakes: "low" | "medium" | "high" | "critical";
} | {
  confidence: number;
  confirmations?: number;
  content: string;
  kind: "fact";
  last_confirmed?: number;
  last_confirmed_by?: Provenance;
  subject?: string;
  superseded_by?: string;
} | {
  activations?: number;
  core_patterns?: string[];
  failures?: number;
  kind: "procedure";
  name: string;
  steps?: string[];
  successes?: number;
} | {
  detail?: string;
  detail_at?: number;
  effort?: string;
  kind: "episode";
  lessons?: string[];
  minutes?: number;
  outcome?: string;
  participants?: string[];
  session?: string;
  summary: string;
} | {
  action: "steer" | "refuse" | "abort";
  false_positives?: number;
  kind: "censor";
  pattern: Pattern;
  reason: string;
  side: "input" | "output" | "tool_call";
  triggers?: number;
};

export interface Draft {
  body: NewBody;
  domain?: string | null;
  force?: boolean;
  pinned?: boolean;
  project?: string | null;
  tags?: string[];
  valid_from?: number | null;
  valid_until?: number | null;
}

export interface ErasedMemory {
  erased: boolean;
  events: number;
  id: string;
}

export interface ExpectedRecall {
  expect: string;
  here?: string | null;
  kinds?: Array<"decision" | "fact" | "procedure" | "episode" | "censor">;
  max?: number | null;
  project?: string | null;
  query?: string;
  superseded?: boolean;
  time?: string | null;
}

/** As `neap memory frames` prints it. */
export type Frame = Record<string, unknown>;

export interface Imported {
  always_elsewhere: number;
  clipped?: Clipped;
  confirmed: number;
  contested: number;
  ids: Record<string, string>;
  known: number;
  new: number;
  out_of_use: number;
  refused: string[];
  superseded: number;
}

export interface Memory {
  body: Body;
  clipped?: Clipped;
  contested_with?: string[];
  created: number;
  domain?: string;
  forget_asked?: boolean;
  id: string;
  lines: {
    micro: string;
    micro_tokens: number;
    summary: string;
    summary_tokens: number;
  };
  masked?: number;
  pin_asked?: boolean;
  pinned?: boolean;
  project?: string;
  provenance: Provenance;
  shaken_by?: string[];
  status: string;
  supersedes?: Array<{
    id: string;
    text: string;
  }>;
  tags?: string[];
  updated: number;
  valid_from?: number;
  valid_until?: number;
}

export interface MemoryChange {
  clipped?: Clipped;
  id: string;
  memory: Memory;
  note: string;
  status: string;
}

export interface MemoryEdit {
  body?: Record<string, unknown>;
  domain?: string | null;
  pinned?: boolean;
  project?: string | null;
  tags?: string[] | null;
  valid_from?: number | null;
  valid_until?: number | null;
}

export interface MemoryErasure {
  clipped?: Clipped;
  erased: boolean;
  id: string;
  memory: Memory;
  takes: Array<{
    how: "rests_on" | "superseded_by" | "contested_with" | "shaken_by";
    id: string;
  }>;
  versions: number;
}

export interface MemoryHit {
  clipped?: Clipped;
  content: string;
  id: string;
  kind: string;
  nearest?: boolean;
  project?: string;
  score: number;
  source: string;
  supersedes?: Array<{
    id: string;
    text: string;
  }>;
  text: string;
  when: number;
}

export interface MemoryOutcome {
  clipped?: Clipped;
  id: string;
  memory: Memory | null;
  note: string;
  similar: MemoryHit[];
  status: string;
  superseded: string[];
}

export interface MemoryQuestion {
  budget?: number | null;
  frame?: string | null;
  here?: string | null;
  project?: string | null;
  question: string;
}

export interface MemoryStatus {
  agent: string;
  always: string[];
  calibration: Record<string, unknown> | null;
  censors: string[];
  clipped?: Clipped;
  confirmation_rate: number | null;
  growth_per_day: number | null;
  kinds: Record<string, Record<string, number>>;
  pending: Array<Record<string, unknown>>;
  records: number;
  reviews: number;
}

export type NewBody = {
  alternatives?: string[];
  category?: string;
  confidence?: number;
  context?: string;
  description: string;
  kind: "decision";
  reasons?: Array<{
    kind: string;
    text: string;
  }>;
  rests_on?: string[];
  stakes?: "low" | "medium" | "high" | "critical";
} | {
  confidence?: number;
  content: string;
  kind: "fact";
  subject?: string;
} | {
  core_patterns?: string[];
  kind: "procedure";
  name: string;
  steps?: string[];
} | {
  detail?: string;
  effort?: string;
  kind: "episode";
  lessons?: string[];
  minutes?: number;
  outcome?: string;
  participants?: string[];
  session?: string;
  summary?: string;
} | {
  action?: "steer" | "refuse" | "abort";
  kind: "censor";
  pattern: Pattern;
  reason?: string;
  side?: "input" | "output" | "tool_call";
};

export interface NewImport {
  ids?: Record<string, string>;
  memories: Array<Record<string, unknown>>;
  source: string;
}

export interface NewReview {
  notes?: string;
  outcome: "pending" | "success" | "partial" | "failure";
}

export interface NewRollBack {
  author: Author;
  confirm?: boolean;
  session?: string | null;
  since?: number | null;
}

export interface NewTrial {
  pattern: Pattern;
  text: string;
}

export interface Pattern {
  by: "words" | "regex" | "like";
  of: string;
}

export interface Provenance {
  author: Author;
  session?: string;
  source?: string;
  trust: "low" | "medium" | "high";
  turn?: number;
}

export interface Question {
  budget: number;
  build_ms: number;
  candidates: Array<{
    confidence: number;
    id: string;
    loaded: boolean;
    outcome: number;
    priority: number;
    recency: number;
    score: number;
    similarity: number;
    usage: number;
    why: string;
  }>;
  clipped?: Clipped;
  frame: string;
  frame_because: string;
  frame_confidence: number;
  items: LoadedItem[];
  sections: Array<{
    layer: string;
    text: string;
  }>;
  text: string;
  tokens: LayerTokens;
  tokens_total: number;
}

export interface Recall {
  here?: string | null;
  kinds?: Array<"decision" | "fact" | "procedure" | "episode" | "censor">;
  max?: number | null;
  project?: string | null;
  query?: string;
  superseded?: boolean;
  time?: string | null;
}

export interface RolledBack {
  author: Author;
  clipped?: Clipped;
  done: boolean;
  records: Memory[];
  rolled_back: string[];
}

export interface Trial {
  clipped?: Clipped;
  found: boolean;
  pattern: Pattern;
}

/** What happened has fields of its own, such as `by` and `evidence`. */
export type Version = Record<string, unknown>;
