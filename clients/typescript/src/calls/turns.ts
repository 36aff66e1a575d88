/** Calls about the turns of a session. */

import { type Call, get, newId, part, postOnce, put } from "../call.js";
import type {
  Appended,
  Change,
  Diff,
  NewMessages,
  NewTurn,
  Page,
  Prompt,
  RecordedTurn,
  SeriesRow,
  Turn,
  TurnRow,
} from "../forms/index.js";
import { of, type Paging } from "./sessions.js";

export type TurnNumber = number | "latest";
/** A list that can begin below a turn. */
export type TurnPaging = Paging & { before?: number };

/** Turns, newest first. */
export function listTurns(session: string, options: TurnPaging = {}): Call<Page<TurnRow>> {
  const { limit, cursor, before } = options;
  return get(of(session, "/turns"), { limit, cursor, before });
}

/** Turns for plots, newest first; so many `points`, evenly spaced over the session. */
export function series(session: string, options: TurnPaging & { points?: number } = {}): Call<Page<SeriesRow>> {
  const { limit, cursor, before, points } = options;
  return get(of(session, "/series"), { limit, cursor, before, points });
}

/** What entered a prompt, left it or was rewritten, and why; newest first. */
export function listChanges(session: string, options: TurnPaging = {}): Call<Page<Change>> {
  const { limit, cursor, before } = options;
  return get(of(session, "/changes"), { limit, cursor, before });
}

/** A turn: its words, tool rounds, what happened, and its ledger. */
export function explainTurn(session: string, turn: TurnNumber): Call<Turn> {
  return get(of(session, `/turns/${part(turn)}`));
}

/**
 * Record a turn for which the caller ran the model.
 *
 * `turn` is the caller's own id for it: the same one again records nothing. Without it, the client makes one up.
 */
export function recordTurn(
  session: string,
  message: string,
  reply: string,
  options: Omit<NewTurn, "message" | "reply"> & { turn?: string } = {},
): Call<RecordedTurn> {
  const { turn = newId(), ...others } = options;
  return put(of(session, `/turns/${part(turn)}`), { ...others, message, reply });
}

/**
 * Record messages, at most 256; the first begins an exchange.
 *
 * The same `key` again records nothing. Without it, the client makes one up.
 */
export function appendMessages(
  session: string,
  messages: NewMessages["messages"],
  options: Omit<NewMessages, "messages"> & { key?: string } = {},
): Call<Appended> {
  const { key, ...others } = options;
  return postOnce(of(session, "/messages"), { ...others, messages }, key);
}

/** What was sent for a turn, in blocks. */
export function showPrompt(
  session: string,
  turn: TurnNumber,
  options: { block?: number; offset?: number; limit?: number } = {},
): Call<Prompt> {
  const { block, offset, limit } = options;
  return get(of(session, `/turns/${part(turn)}/prompt`), { block, offset, limit });
}

/** What differs between a turn's prompt and another, the one before unless `with` is given. */
export function diffPrompts(session: string, turn: TurnNumber, options: { with?: number } = {}): Call<Diff> {
  return get(of(session, `/turns/${part(turn)}/diff`), { with: options.with });
}
