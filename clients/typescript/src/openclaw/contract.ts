/**
 * The parts of OpenClaw's `ContextEngine` that this engine has. OpenClaw's own types are compared with these in a test,
 * so that this package needs none of them.
 */

/** A message of OpenClaw: "user", "assistant", "toolResult", or a kind of its own. */
export interface AgentMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly timestamp?: string | number | undefined;
}

interface OfSession {
  readonly sessionId: string;
  readonly sessionKey?: string | undefined;
}

export interface AssembleParams<Message> extends OfSession {
  readonly messages: Message[];
  readonly tokenBudget?: number | undefined;
  readonly prompt?: string | undefined;
  readonly model?: string | undefined;
  readonly runtimeSettings?: { readonly limits: { readonly promptTokenBudget: number | null } } | undefined;
}

export interface AssembleResult<Message> {
  messages: Message[];
  estimatedTokens: number;
  contextProjection: { mode: "thread_bootstrap"; epoch: string; fingerprint: string };
}

export interface CommitParams<Message> extends OfSession {
  readonly advancementKey: string;
  readonly messages: Message[];
}

export interface AfterTurnParams<Message> extends OfSession {
  readonly messages: Message[];
}

export interface CompactParams extends OfSession {
  readonly currentTokenCount?: number | undefined;
}

export interface CompactResult {
  ok: boolean;
  compacted: boolean;
  reason?: string;
  result?: { tokensBefore: number };
}

export interface ContextEngine<Message> {
  readonly info: {
    id: string;
    name: string;
    version: string;
    ownsCompaction: true;
    acceptedHostParams: string[];
    transcriptSemantics: {
      currentTurnFence: "before-current-turn-entry-v1";
      turnAdvancementIdempotency: "atomic-idempotent-v1";
    };
  };
  bootstrap(params: OfSession): Promise<{ bootstrapped: boolean }>;
  ingest(params: OfSession & { message: Message }): Promise<{ ingested: boolean }>;
  assemble(params: AssembleParams<Message>): Promise<AssembleResult<Message>>;
  commitTurn(params: CommitParams<Message>): Promise<{ status: "committed" | "duplicate" }>;
  afterTurn(params: AfterTurnParams<Message>): Promise<void>;
  compact(params: CompactParams): Promise<CompactResult>;
}

/** What a plugin is given. */
export interface PluginApi<HostMessage> {
  readonly pluginConfig?: Record<string, unknown> | undefined;
  registerContextEngine(id: string, factory: () => ContextEngine<HostMessage>): void;
}
