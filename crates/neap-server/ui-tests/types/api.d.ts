// The forms of the HTTP API, as docs/api.md describes them; the page's type comments name them.

declare namespace Api {
  interface Page<T> { items: T[]; next: string | null }
  interface Problem { title: string; status: number; code?: string; detail?: string; hint?: string }
  interface Clipped { clipped?: { at: string; chars: number }[] }

  interface Cost { calls: number; sent: number; cached: number; output: number; nanodollars: number }
  interface Usage { input: number; cached: number; cache_written?: number; output: number }
  interface RequestCost { sent_nanodollars: number; untouched_nanodollars: number }
  interface RequestTotals {
    requests: number; changed: number; broken_off: number; tokens_in: number; tokens_sent: number; used: Usage;
    priced?: number; cost?: RequestCost;
  }
  interface Account {
    class: string; verdict?: string; tokens_in: number; tokens_sent: number; changes: number; epoch: number;
    used?: Usage; cost?: RequestCost; is_whole: boolean;
  }
  interface SessionRow {
    session: string; created: number; updated: number; turns: number; efforts: number; events: number;
    scrubbed: boolean; cost?: Cost; passed?: RequestTotals;
  }
  interface TotalTokens { sent: number; cached: number; output: number }
  interface ModelTotals extends TotalTokens { model: string; calls: number; dollars: number | null; untouched_dollars: number | null }
  interface ProjectTotals extends TotalTokens { project: string | null; sessions: number; turns: number; dollars: number; untouched_dollars: number }
  interface StoreReport { models: ModelTotals[]; projects: ProjectTotals[] }
  interface Session {
    session: string; created: number; updated: number; turns: number; active: string | null;
    policy: Record<string, number | string | boolean>; report: Record<string, unknown>;
  }
  type Scope = "ambient" | { effort: string };
  type Layers = Record<string, number>;
  interface SeriesRow {
    turn: number; at: number; state: string; budget: number | null; tokens: Layers | null;
    tokens_total: number | null; naive_tokens: number | null; epoch_since: number | null; rewritten: string | null;
    cost: Cost | null; requests: Account[];
  }
  interface TurnRow extends SeriesRow { message: string | null; scope: Scope | null; happened: string[] }
  interface Change {
    turn: number | null; seq: number; at: number; kind: string; ids?: string[]; cause?: string | Record<string, unknown> | null;
    tokens?: number | null;
  }
  interface Message {
    role: string; content: string; tokens?: number; name?: string; tool_call_id?: string;
    tool_calls?: { id: string; name: string; arguments: string }[];
  }
  interface LogShown { scope: Scope; layer: string; in_short?: string; from?: number; exchanges: number; left_out?: number; excerpted?: boolean; tokens: number }
  interface Ledger {
    budget: number; tokens: Layers; naive_tokens: number; summaries?: string[]; summaries_over_budget?: string[];
    summaries_over_budget_count?: number; evicted?: number; memories?: string[]; memories_used?: string[];
    logs?: LogShown[]; rounds_left_out?: number; epoch_since?: number; cost?: Cost;
  }
  interface LoadedItem { id: string; score: number; similarity: number; tokens: number; micro?: boolean }
  interface Turn extends Clipped {
    turn: number; message: string | null; author?: string; rounds: { assistant: Message; results: Message[] }[];
    happened: ({ type: string } & Record<string, any>)[]; reply: string | null; abandoned: unknown; scope: Scope | null;
    ledger: Ledger | null; epoch_cause?: string;
    chosen?: { turn: number; loaded: { frame: string; cause: string; considered: number; tokens: number; budget: number; items: LoadedItem[] } };
  }
  interface Block {
    block: number; layer: string | null; role: string; tokens: number; chars: number; text: string; why: string;
    turn?: number | null; effort?: string | null; cached: boolean; offset?: number;
  }
  interface Prompt {
    turn: number; kind: "assembled" | "forwarded" | "recorded"; exact: boolean; note: string | null; budget: number | null;
    tokens_total: number | null; cached_tokens: number | null; layers: { layer: string; tokens: number }[]; blocks: Block[];
    requests?: Account[]; next: number | null;
  }
  interface DiffBlock { change: "same" | "added" | "removed"; layer: string | null; role: string; tokens: number; text: string; block: number }
  interface Diff { from: number; to: number; exact: boolean; same_tokens: number; blocks: DiffBlock[] }

  interface Effort {
    id: string; name: string; status: string; place: string; active: boolean; expanded: boolean; raw_tokens: number;
    exchanges: number; summary: string | null; summary_tokens: number | null; expansion_cost_tokens: number | null;
    last_referenced_turn: number;
  }
  interface Exchange extends Clipped { turn: number; at: number; messages: Message[] }
  interface ToolReply { text: string; banner: string | null; refusal: string | null }

  interface Tally { found: number; retained: number; recoverable: number; missing: number }
  interface Probe { kind: string; value: string }
  interface ValueChange { kind: string; from: string; to: string }
  interface Receipt {
    kinds?: Record<string, Tally>; recoverable?: Probe[]; missing?: Probe[]; changed?: ValueChange[];
    repaired?: ValueChange[]; handle?: string;
  }
  interface SummaryAccount { turn: number; at: number; of: string; kind: string; source_tokens: number; summary_tokens: number; receipt?: Receipt }
  interface Original { handle: string; chars: number; offset: number; text: string; next: number | null }

  interface Provenance { author: string; session?: string; turn?: number; source?: string; trust: string }
  interface Memory {
    id: string; body: { kind: string } & Record<string, any>; status: string; provenance: Provenance; tags?: string[];
    domain?: string; pinned?: boolean; created: number; updated: number; valid_from?: number; valid_until?: number;
    contested_with?: string[]; shaken_by?: string[]; masked?: number; pin_asked?: boolean; forget_asked?: boolean;
    supersedes?: string[];
  }
  interface Version { change: string; by?: string; with?: string; evidence?: string; reason?: string; seq: number; at: number; memory: Memory }
  interface MemoryChange { id: string; status: string; note: string; memory: Memory }
  interface Erasure { id: string; versions: number; memory: Memory; takes: { id: string; how: string }[] }
  interface Candidate {
    id: string; score: number; similarity: number; priority: number; recency: number; outcome: number; usage: number;
    confidence: number; loaded: boolean; why: string; text?: string;
  }
  interface Question {
    frame: string; frame_because: string; text: string; tokens_total: number; budget: number; candidates: Candidate[];
    build_ms: number; expected?: { id: string; stage: string; why: string };
  }
  interface Expected {
    expected: string;
    outcome: { stage: string; place?: number; score?: number; shared: string[]; similarity?: number };
  }
  interface Hit {
    session: string; effort?: string; turn?: number; kind: string; who?: string; at: number; text: string; score: number;
    why: Record<string, number>;
  }
  interface LoggedRequest {
    number: number; at: number; asks: string; session: string | null; class: string; verdict: string | null;
    tokens_in: number; tokens_sent: number; changes: number; left_out: number; epoch: number; used: Usage | null;
    is_whole: boolean; took_ms: number;
  }
  interface RequestPage { waiting: number; requests: LoggedRequest[] }
  interface Jobs {
    recording: { failing: string | null; waiting: number; dropped: number };
    embedding: { model: string | null; fault: string | null }; proxy: boolean; agent: string;
  }
  interface TotalReport { sessions: number; turns: number; cost: Cost; price_dollars: number; passed: RequestTotals; saved_dollars: number | null }
  interface LiveEvent { session: string | null; turn: number | null; seq: number; at: number; kind: string; ids?: string[] }
}
