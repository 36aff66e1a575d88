/** Forms of server. Written by tools/forms.mjs. */

/** What was cut so that the answer is not too large: a JSON pointer, and the length of the whole. */
export type Clipped = Array<{
  at: string;
  chars?: number;
  items?: number;
}>;

/** This document. */
export type Document = Record<string, unknown>;

export interface Expected {
  clipped?: Clipped;
  expected: string;
  outcome: {
    place?: number;
    score?: number;
    shared: string[];
    similarity?: number;
    stage: "not_stored" | "not_searched" | "not_proposed" | "below_floor" | "beyond_limit" | "found";
    why?: RankFactors;
  };
}

export interface ExpectedSearch {
  by?: string | null;
  effort?: string | null;
  expect: string;
  here?: string | null;
  in?: "talk" | "raw" | "efforts" | "memories" | "all" | null;
  max?: number | null;
  project?: string | null;
  query: string;
  session?: string | null;
  since?: number | null;
}

export interface Health {
  status: "ok" | "failing";
  version: string;
}

export interface Hit {
  at: number;
  effort?: string;
  kind: string;
  project?: string;
  score: number;
  session: string;
  text: string;
  turn?: number;
  who?: string;
  why: RankFactors;
}

export interface Jobs {
  agent: string;
  embedding: {
    fault: string | null;
    model: string | null;
  };
  proxy: boolean;
  recording: {
    dropped: number;
    failing: string | null;
    waiting: number;
  };
}

export interface LoggedRequest {
  asks: string;
  at: number;
  changes: number;
  class: string;
  epoch: number;
  is_whole: boolean;
  left_out: number;
  number: number;
  session: string | null;
  tokens_in: number;
  tokens_sent: number;
  took_ms: number;
  used: {
    cached: number;
    input: number;
    output: number;
  } | null;
  verdict: string | null;
}

export interface Problem {
  code: string;
  detail: string;
  hint: string;
  status: number;
  title: string;
  type: string;
}

export interface RankFactors {
  beside: number;
  conversation: number;
  cost: number;
  decision: number;
  file: number;
  here: number;
  lately: number;
  meaning: number;
  opening: number;
  speaker: number;
  time: number;
  words: number;
}

export interface RequestLog {
  clipped?: Clipped;
  requests: LoggedRequest[];
  waiting: number;
}

export interface Search {
  by?: string | null;
  effort?: string | null;
  here?: string | null;
  in?: "talk" | "raw" | "efforts" | "memories" | "all" | null;
  max?: number | null;
  project?: string | null;
  query: string;
  session?: string | null;
  since?: number | null;
}

/** A part of a list; `next` is the cursor of the part after it, null at the end. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
  note?: string | null;
  clipped?: Clipped;
}
