/**
 * What is sent of one session: all of it while it fits, then a page about what came before, the newest turns word for
 * word, and what bears on the question. Between two rewrites only the end grows, which a provider's cache rewards.
 */

import type { Neap } from "../client.js";
import { NeapError } from "../errors.js";
import { estimateTokens, messageTokens, shortened } from "./tokens.js";
import { digest, type HostTurn } from "./turn.js";

/** With less, there is no room for a page. */
export const BUDGET_MIN = 1024;
const PAGE_TOKENS_MIN = 256;
const PAGE_TOKENS_MAX = 4000;
const RECALLED_TOKENS_MAX = 800;

/** The part of the working context that stands for the turns so far. */
export interface HostContext {
  /** What came before the turns; undefined if nothing did. */
  readonly page: string | undefined;
  /** The first turn that is sent word for word. */
  readonly from: number;
  /** What was said before and bears on the question; undefined if the page has it, or nothing does. */
  readonly recalled: string | undefined;
  readonly tokens: number;
  /** The same as long as page and first turn are. */
  readonly epoch: string;
}

interface Epoch {
  readonly page: string;
  /** The key of the first turn that is sent, or undefined: none is. */
  readonly first: string | undefined;
  readonly question: string;
}

export class Window {
  #epoch: Epoch | undefined;
  #recalled: { question: string; stored: number; text: string } | undefined;
  #cap: { room: number; question: string | undefined } | undefined;
  #tokens = 0;

  constructor(
    private readonly neap: Neap,
    private readonly session: string,
  ) {}

  /** Of the last context. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Begins a new epoch, for the next question in half the room. */
  rewrite(): void {
    this.#cap = { room: Math.max(BUDGET_MIN, Math.floor(this.#tokens / 2)), question: undefined };
    this.#epoch = undefined;
  }

  /**
   * What to send of `turns` before a question, in at most `budget` tokens; `stored` is how many turns the session has,
   * which may be more.
   */
  async contextFor(turns: readonly HostTurn[], question: string, budget: number, stored: number): Promise<HostContext> {
    if (this.#cap !== undefined && (this.#cap.question ?? question) !== question) this.#cap = undefined;
    if (this.#cap !== undefined) this.#cap.question = question;
    const room = Math.min(budget, this.#cap?.room ?? budget);
    const context = await this.#contextFor(turns, question, room, stored);
    this.#tokens = context.tokens;
    return context;
  }

  async #contextFor(turns: readonly HostTurn[], question: string, room: number, stored: number): Promise<HostContext> {
    const all = sum(turns);
    if (this.#epoch === undefined && stored <= turns.length && all <= room) {
      return { page: undefined, from: 0, recalled: undefined, tokens: all, epoch: epochId("", turns[0]?.key) };
    }
    if (room < ROOM_MIN) return tailOnly(turns, room);
    const recalledMax = within(room * 0.08, PAGE_TOKENS_MIN, RECALLED_TOKENS_MAX);
    const recalled = await this.#recall(question, stored, recalledMax);
    const from = this.#first(turns);
    if (this.#epoch !== undefined && from !== undefined) {
      const grown = this.#of(this.#epoch, turns, from, question, recalled);
      if (grown.tokens <= room) return grown;
    }
    this.#epoch = await this.#begin(turns, question, room, recalledMax);
    return this.#of(this.#epoch, turns, this.#first(turns) ?? turns.length, question, recalled);
  }

  /** Where the epoch's first turn is, if it still is. */
  #first(turns: readonly HostTurn[]): number | undefined {
    const epoch = this.#epoch;
    if (epoch === undefined) return undefined;
    const at = turns.findIndex((turn) => turn.key === epoch.first);
    return at < 0 ? undefined : at;
  }

  #of(epoch: Epoch, turns: readonly HostTurn[], from: number, question: string, found: string): HostContext {
    const recalled = found === "" || epoch.question === question ? undefined : found;
    const added = [epoch.page, recalled].filter((text) => text !== undefined).map((text) => messageTokens([text]));
    const tokens = added.reduce((total, one) => total + one, sum(turns.slice(from)));
    return { page: epoch.page, from, recalled, tokens, epoch: epochId(epoch.page, turns[from]?.key) };
  }

  /** Half of what the page leaves is for the newest turns, the other half for those to come. */
  async #begin(turns: readonly HostTurn[], question: string, room: number, recalledMax: number): Promise<Epoch> {
    const budget = within(room / 4, PAGE_TOKENS_MIN, PAGE_TOKENS_MAX);
    const page = await this.#ask(question, budget);
    const from = firstThatFits(turns, (room - messageTokens([page]) - recalledMax) / 2);
    return { page, first: turns[from]?.key, question };
  }

  async #recall(question: string, stored: number, tokensMax: number): Promise<string> {
    if (this.#recalled?.question !== question || this.#recalled.stored !== stored) {
      this.#recalled = { question, stored, text: await this.#ask(question, tokensMax) };
    }
    return this.#recalled.text;
  }

  async #ask(question: string, tokensMax: number): Promise<string> {
    const { text } = await this.neap.buildContext(this.session, {
      question: shortened(question, QUESTION_TOKENS_MAX),
      budget: tokensMax,
    });
    // The server counts tokens, the host's budget is in estimates.
    return estimateTokens(text) <= tokensMax * ESTIMATE_MAX ? text : shortened(text, tokensMax * ESTIMATE_MAX);
  }
}

const QUESTION_TOKENS_MAX = 2000;
const ESTIMATE_MAX = 1.5;
/** What the smallest page may take. */
export const ROOM_MIN: number = PAGE_TOKENS_MIN * ESTIMATE_MAX + messageTokens([]);

/** Refuses a budget that cannot be kept. */
export function checkBudget(budget: number): number {
  if (Number.isInteger(budget) && budget >= BUDGET_MIN) return budget;
  throw new NeapError(`the budget is ${budget} tokens`, `give at least ${BUDGET_MIN}`);
}

function sum(turns: readonly HostTurn[]): number {
  return turns.reduce((total, turn) => total + turn.tokens, 0);
}

function tailOnly(turns: readonly HostTurn[], room: number): HostContext {
  const from = firstThatFits(turns, room);
  const tokens = sum(turns.slice(from));
  return { page: undefined, from, recalled: undefined, tokens, epoch: epochId("", turns[from]?.key) };
}

/** The first of the newest turns that fit. */
function firstThatFits(turns: readonly HostTurn[], room: number): number {
  let left = room;
  let from = turns.length;
  for (; from > 0; from -= 1) {
    left -= turns[from - 1]?.tokens ?? 0;
    if (left < 0) break;
  }
  return from;
}

function within(value: number, min: number, max: number): number {
  return Math.floor(Math.min(Math.max(value, min), max));
}

function epochId(page: string, first: string | undefined): string {
  return digest(`${page}\n${first ?? ""}`);
}
