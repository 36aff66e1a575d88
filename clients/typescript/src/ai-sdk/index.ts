/** A middleware for the AI SDK: records the conversation, and sends what fits a budget of tokens. */

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4Middleware,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";

import type { Neap } from "../client.js";
import { NeapError } from "../errors.js";
import type { Author } from "../forms/index.js";
import { Recorder } from "../host/recorder.js";
import { Sessions } from "../host/sessions.js";
import { estimateTokens } from "../host/tokens.js";
import type { RecordedMessage } from "../host/turn.js";
import { checkBudget, ROOM_MIN, type HostContext, Window } from "../host/window.js";
import {
  conversationOf,
  finishedTurn,
  type PromptTurn,
  questionOf,
  recorded,
  recordedReply,
  tokensOf,
} from "./messages.js";
import { shortenTurn } from "./shorten.js";

export interface NeapMiddlewareOptions {
  neap: Neap;
  /**
   * The session that a request belongs to, by its name. A function may read it from the request, and answers undefined
   * for one that Neap leaves alone.
   */
  session: string | ((params: LanguageModelV4CallOptions) => string | undefined);
  /** How many tokens a request may have, by an estimate on the safe side: system prompt, tools and messages. */
  budget: number;
  /** Who writes the user messages: "person" if that is certain. Without it they count as a model's. */
  author?: Author;
}

/** What is known of the session of one conversation. */
class Conversing {
  readonly recorder: Recorder;
  readonly window: Window;

  constructor(neap: Neap, session: string, author: Author | undefined) {
    this.recorder = new Recorder(neap, session, author);
    this.window = new Window(neap, session);
  }
}

/** A request that is answered now. */
interface Pending {
  readonly recorder: Recorder;
  readonly turns: readonly PromptTurn[];
  readonly messages: RecordedMessage[];
}

/** For `wrapLanguageModel({ model, middleware: neapMiddleware({ … }) })`. */
export function neapMiddleware(options: NeapMiddlewareOptions): LanguageModelV4Middleware {
  const { neap, session, author } = options;
  const budget = checkBudget(options.budget);
  const sessions = new Sessions((name) => new Conversing(neap, name, author));
  const pending = new WeakMap<LanguageModelV4CallOptions, Pending>();

  async function record(params: LanguageModelV4CallOptions, reply: readonly LanguageModelV4Content[]): Promise<void> {
    const begun = pending.get(params);
    if (begun === undefined) return;
    const messages = [...begun.messages, ...recordedReply(reply)];
    await begun.recorder.record([finishedTurn(begun.turns, messages)]);
  }

  return {
    specificationVersion: "v4",

    async transformParams({ params }) {
      const name = typeof session === "string" ? session : session(params);
      const { system, turns, current } = conversationOf(params.prompt);
      if (name === undefined || current.length === 0) return params;
      const { recorder, window } = sessions.of(name);
      await recorder.record(turns);
      const fixed = tokensOf(system) + estimateTokens(JSON.stringify(params.tools ?? []));
      const turn = fittingTurn(current, budget - fixed);
      const room = budget - fixed - tokensOf(turn);
      const context = await window.contextFor(turns, questionOf(current), room, await recorder.stored());
      const sent = { ...params, prompt: [...system, ...shown(context, turns, turn)] };
      pending.set(sent, { recorder, turns, messages: recorded(current) });
      return sent;
    },

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      if (isOver(result.finishReason)) await record(params, result.content);
      return result;
    },

    async wrapStream({ doStream, params }) {
      const result = await doStream();
      const content: LanguageModelV4Content[] = [];
      const recording = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
        async transform(part, controller) {
          collect(part, content);
          // Before the host knows that it is over.
          if (part.type === "finish" && isOver(part.finishReason)) await record(params, content);
          controller.enqueue(part);
        },
      });
      return { ...result, stream: result.stream.pipeThrough(recording) };
    },
  };
}

/** After calls of tools the turn goes on; what broke off is recorded with what the host makes of it. */
function isOver({ unified }: LanguageModelV4FinishReason): boolean {
  return !["tool-calls", "error", "interrupted"].includes(unified);
}

function fittingTurn(current: LanguageModelV4Message[], room: number): LanguageModelV4Message[] {
  const turn = shortenTurn(current, room - ROOM_MIN);
  if (tokensOf(turn) <= room - ROOM_MIN) return turn;
  throw new NeapError(
    `system prompt, tools and last message need about ${Math.ceil(tokensOf(turn) - room + ROOM_MIN)} tokens more than the budget`,
    "raise the budget, or send fewer tools",
  );
}

/** The page stands at the beginning of the first user message, what bears on the question in the last. */
function shown(
  context: HostContext,
  turns: readonly PromptTurn[],
  turn: readonly LanguageModelV4Message[],
): LanguageModelV4Message[] {
  const sent = [...turns.slice(context.from).flatMap((one) => one.prompt), ...withText(turn, context.recalled)];
  return withText(sent, context.page);
}

function withText(messages: readonly LanguageModelV4Message[], text: string | undefined): LanguageModelV4Message[] {
  const [first, ...rest] = messages;
  if (text === undefined || text === "" || first?.role !== "user") return [...messages];
  return [{ ...first, content: [{ type: "text", text }, ...first.content] }, ...rest];
}

function collect(part: LanguageModelV4StreamPart, content: LanguageModelV4Content[]): void {
  if (part.type === "text-delta") {
    const last = content.at(-1);
    if (last?.type === "text") last.text += part.delta;
    else content.push({ type: "text", text: part.delta });
  } else if (part.type === "tool-call" || part.type === "tool-result" || part.type === "file") {
    content.push(part);
  }
}
