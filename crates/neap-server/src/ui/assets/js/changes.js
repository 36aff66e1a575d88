// What changed a prompt, in words: what entered, left or was rewritten, and why.

import { causeText } from "./context_parts.js";
import { count, words } from "./format.js";

/** @typedef {"entered" | "left" | "rewritten"} Lane */

/** @typedef {{ lane: Lane, text: (ids: string, change: Api.Change) => string }} Kind */

/** @type {Record<string, Kind>} */
const WORDED = {
  effort_opened: { lane: "entered", text: (ids) => `${ids} opened` },
  effort_reopened: { lane: "entered", text: (ids) => `${ids} reopened: its log is back` },
  effort_switched: { lane: "entered", text: (ids) => `${ids} is the active effort` },
  effort_expanded: { lane: "entered", text: (ids, { tokens }) => `${ids} expanded: its whole log is back${amount(tokens)}` },
  memories_loaded: { lane: "entered", text: (ids, change) => `memories chosen${reason(change.cause)}: ${ids || "none"}` },
  effort_collapsed: { lane: "left", text: (ids, change) => `${ids} collapsed to its summary${reason(change.cause)}${amount(change.tokens)}` },
  summaries_evicted: { lane: "left", text: (ids) => `evicted, because nothing referred to it for long: ${ids}` },
  effort_concluded: { lane: "rewritten", text: (ids) => `${ids} concluded: a summary takes the place of its log` },
  effort_summarized: { lane: "rewritten", text: (ids) => `${ids} has a better summary` },
  span_compacted: { lane: "rewritten", text: (ids) => `older exchanges in short: ${ids}` },
  client_compacted: { lane: "rewritten", text: () => "the client replaced its history with its own summary" },
  epoch_began: { lane: "rewritten", text: (_, change) => `the prompt was rewritten${typeof change.cause === "string" ? `, because ${causeText(change.cause)}` : ""}` },
};
const KINDS = new Map(Object.entries(WORDED));

/** @param {string} kind @returns {Lane | null} */
export function laneOf(kind) {
  return KINDS.get(kind)?.lane ?? null;
}

/** @param {Api.Change} change */
export function changeText(change) {
  const ids = (change.ids ?? []).join(", ");
  return KINDS.get(change.kind)?.text(ids, change) ?? `${words(change.kind)} ${ids}`;
}

/** @param {Api.Change["cause"]} cause */
function reason(cause) {
  if (cause === null || cause === undefined) return "";
  if (typeof cause === "string") return ` (${words(cause)})`;
  const decayed = /** @type {{ decayed?: { inactive_turns?: number } }} */ (cause).decayed;
  return decayed ? ` (nothing referred to it for ${count(decayed.inactive_turns)} turns)` : ` (${Object.keys(cause).map(words).join(", ")})`;
}

/** @param {number | null | undefined} tokens */
function amount(tokens) {
  return tokens ? `, ${count(tokens)} tokens` : "";
}

/**
 * The events of a turn's explanation in the form of changes.
 * @param {Api.Turn} turn
 * @returns {Api.Change[]}
 */
export function changesOfTurn(turn) {
  return turn.happened.filter((event) => laneOf(event.type) !== null).map((event) => ({
    turn: turn.turn, seq: 0, at: 0, kind: event.type,
    ids: event.ids ?? (event.id ? [event.id] : event.loaded ? event.loaded.items.map((/** @type {{ id: string }} */ item) => item.id) : []),
    cause: event.cause ?? event.loaded?.cause ?? null, tokens: event.tokens_loaded ?? event.tokens_freed ?? null,
  }));
}
