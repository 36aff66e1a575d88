// One effort as a line over turns: open, concluded to a summary, expanded, evicted.

import { h } from "./dom.js";

/** @typedef {"open" | "summary" | "expanded" | "evicted"} Phase */
/** @typedef {{ phase: Phase, from: number, to: number }} Stretch */

/** @type {Record<Phase, string>} */
export const PHASE_NAMES = { open: "open", summary: "summary", expanded: "expanded", evicted: "evicted" };

/** @type {Map<string, Phase>} */
const STARTS = new Map([
  ["effort_opened", "open"],
  ["effort_reopened", "open"],
  ["effort_concluded", "summary"],
  ["effort_expanded", "expanded"],
  ["effort_collapsed", "summary"],
  ["summaries_evicted", "evicted"],
]);

/**
 * The phases of an effort up to the newest turn; without its changes, from what is known of it today.
 * @param {Api.Effort} effort
 * @param {Api.Change[]} changes oldest first
 * @param {number} turns
 * @returns {Stretch[]}
 */
export function stretches(effort, changes, turns) {
  /** @type {{ phase: Phase, at: number }[]} */
  const starts = [];
  for (const change of changes) {
    const phase = STARTS.get(change.kind);
    if (phase && change.turn !== null) starts.push({ phase, at: change.turn });
  }
  if (starts.length === 0 || starts[0]?.phase !== "open") starts.unshift(...known(effort, starts[0]?.at ?? Infinity));
  return starts.map(({ phase, at }, index) => ({ phase, from: at, to: starts[index + 1]?.at ?? turns })).filter(({ from, to }) => to >= from);
}

/** @param {Api.Effort} effort @param {number} before @returns {{ phase: Phase, at: number }[]} */
function known(effort, before) {
  /** @type {{ phase: Phase, at: number }[]} */
  const starts = [];
  const put = (/** @type {Phase} */ phase, /** @type {number | null} */ at) => {
    if (at !== null && at < before) starts.push({ phase, at });
  };
  put("open", Math.max(1, effort.last_referenced_turn - effort.exchanges));
  put("summary", effort.status === "concluded" ? effort.last_referenced_turn : null);
  return starts;
}

/**
 * @param {Stretch[]} parts
 * @param {{ from: number, to: number }} range
 */
export function effortLane(parts, range) {
  const width = Math.max(1, range.to - range.from);
  const share = (/** @type {number} */ turn) => Math.min(1, Math.max(0, (turn - range.from) / width)) * 100;
  const label = parts.map(({ phase, from, to }) => `${PHASE_NAMES[phase]} from turn ${from} to ${to}`).join(", ");
  const lane = h("span", { class: "effort-lane", role: "img", "aria-label": label, title: label });
  for (const { phase, from, to } of parts) {
    if (to < range.from || from > range.to) continue;
    const piece = h("i", { class: `phase-${phase}` });
    piece.style.left = `${share(from)}%`;
    piece.style.width = `max(3px, ${share(to) - share(from)}%)`;
    lane.append(piece);
  }
  return lane;
}

/**
 * The turns in which something happened to these efforts, with a little room.
 * @param {Stretch[][]} efforts
 * @param {number} turns
 */
export function rangeOf(efforts, turns) {
  const starts = efforts.flat().map((stretch) => stretch.from);
  const open = efforts.some((parts) => parts.at(-1)?.phase === "open");
  const first = Math.min(turns, ...starts);
  const last = open ? turns : Math.max(first + 1, ...starts);
  const room = Math.ceil((last - first) * 0.08);
  return { from: Math.max(1, first - room), to: Math.min(turns, last + room) };
}
