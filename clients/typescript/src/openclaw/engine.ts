/** The context engine: OpenClaw keeps its transcript, Neap records the turns and says which of them a model is sent. */

import type { Neap } from "../client.js";
import type { Author } from "../forms/index.js";
import { Recorder } from "../host/recorder.js";
import { Sessions } from "../host/sessions.js";
import { digest } from "../host/turn.js";
import { checkBudget, Window } from "../host/window.js";
import { VERSION } from "../version.js";
import type { AfterTurnParams, AgentMessage, AssembleParams, AssembleResult, ContextEngine } from "./contract.js";
import { recorded, textOf, turnKey, turnsOf } from "./messages.js";

export interface ContextEngineOptions {
  neap: Neap;
  /** The most tokens of a context, whatever the model takes; OpenClaw's own limit holds, too. */
  budget?: number | undefined;
  /** Who writes the user messages: "person" if that is certain. Without it they count as a model's. */
  author?: Author | undefined;
}

const BUDGET = 16_000;
const OWN_MAX = 1000;

/** What is known of one session. OpenClaw makes an engine for each run, which all share this. */
class Conversing {
  readonly recorder: Recorder;
  readonly window: Window;
  prompt: { text: string; budget: number } | undefined;
  readonly #own = new Set<string>();

  constructor(neap: Neap, name: string, author: Author | undefined) {
    this.recorder = new Recorder(neap, name, author);
    this.window = new Window(neap, name);
  }

  /** Pages and recalled texts that were sent: within a turn OpenClaw gives them back, as if somebody had said them. */
  remember(texts: ReadonlyArray<string | undefined>): void {
    for (const text of texts) if (text !== undefined && text !== "") this.#own.add(digest(text));
    const [oldest] = this.#own;
    if (this.#own.size > OWN_MAX && oldest !== undefined) this.#own.delete(oldest);
  }

  withoutOwn<Message extends AgentMessage>(messages: readonly Message[]): Message[] {
    return messages.filter((message) => message.role !== "user" || !this.#own.has(digest(textOf(message))));
  }

  /**
   * The first call of a turn has the budget beside system prompt and reserve. Later ones have the model's whole, less
   * what the turn added since.
   */
  budgetFor(text: string, params: AssembleParams<unknown>, budgetMax: number): number {
    const { tokenBudget = budgetMax, runtimeSettings } = params;
    if (this.prompt?.text !== text) this.prompt = { text, budget: Math.min(tokenBudget, budgetMax) };
    const added = Math.max(0, (runtimeSettings?.limits.promptTokenBudget ?? tokenBudget) - tokenBudget);
    return Math.min(tokenBudget, this.prompt.budget - added);
  }
}

/** For `api.registerContextEngine("neap", () => engine)`. */
export function contextEngine<Message extends AgentMessage>(options: ContextEngineOptions): ContextEngine<Message> {
  const { neap, author } = options;
  const budgetMax = checkBudget(options.budget ?? BUDGET);
  const sessions = new Sessions((name) => new Conversing(neap, name, author));
  const conversing = ({ sessionId }: { sessionId: string }): Conversing => sessions.of(`openclaw-${sessionId}`);

  async function assemble(params: AssembleParams<Message>): Promise<AssembleResult<Message>> {
    const session = conversing(params);
    const { messages, prompt = session.prompt?.text ?? "" } = params;
    const turns = turnsOf(session.withoutOwn(messages));
    await session.recorder.record(turns);
    const budget = session.budgetFor(prompt, params, budgetMax);
    const context = await session.window.contextFor(turns, prompt, budget, await session.recorder.stored());
    session.remember([context.page, context.recalled]);
    const sent = turns.slice(context.from).flatMap((turn) => turn.sent);
    const shown = [
      ...userMessage<Message>(context.page, sent[0] ?? messages.at(-1)),
      ...sent,
      ...userMessage<Message>(context.recalled, sent.at(-1) ?? messages.at(-1)),
    ];
    return {
      messages: shown,
      estimatedTokens: context.tokens,
      contextProjection: {
        mode: "thread_bootstrap",
        epoch: context.epoch,
        fingerprint: digest(JSON.stringify(shown)),
      },
    };
  }

  return {
    info: {
      id: "neap",
      name: "Neap",
      version: VERSION,
      ownsCompaction: true,
      acceptedHostParams: ["sessionKey", "prompt", "runtimeSettings"],
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
    },

    async bootstrap() {
      await neap.health();
      return { bootstrapped: true };
    },

    /** Turns are recorded whole: a message alone waits for the rest of its turn. */
    async ingest() {
      return { ingested: false };
    },

    assemble,

    async commitTurn(params) {
      const session = conversing(params);
      const turn = {
        key: turnKey(params.advancementKey),
        tokens: 0,
        messages: recorded(session.withoutOwn(params.messages)),
      };
      const isNew = await session.recorder.record([turn]);
      return { status: isNew ? "committed" : "duplicate" };
    },

    /** For runs that OpenClaw does not commit. Within a turn it is called, too: then the turn is not over. */
    async afterTurn(params: AfterTurnParams<Message>) {
      const session = conversing(params);
      const turns = turnsOf(session.withoutOwn(params.messages));
      const last = turns.at(-1)?.messages.at(-1);
      const isOver = last?.role === "assistant" && last.tool_calls === undefined;
      await session.recorder.record(isOver ? turns : turns.slice(0, -1));
    },

    /** Nothing is summarised here: the next context is made anew, half as large. */
    async compact(params) {
      const { window } = conversing(params);
      const tokensBefore = params.currentTokenCount ?? window.tokens;
      if (window.tokens === 0) return { ok: true, compacted: false, reason: "no context was assembled yet" };
      window.rewrite();
      return { ok: true, compacted: true, result: { tokensBefore } };
    },
  };
}

/** With the time of its neighbour, so that it is the same in every call. */
function userMessage<Message extends AgentMessage>(text: string | undefined, beside: Message | undefined): Message[] {
  if (text === undefined || text === "") return [];
  const message: AgentMessage = { role: "user", content: text, timestamp: beside?.timestamp ?? 0 };
  return [message as Message];
}
