// A session as a function of the turn's number, so that one of 100,000 turns needs no memory.

import { chapter, smallTalk } from "./story.js";

export const BUDGET = 8_000;
/** Turns from one effort's opening to the next one's; the last two are small talk. */
const PERIOD = 12;
const CONCLUDED_AT = 9;
const EPOCH = 17;
const SHOWN_TURNS = 60;
const STARTED = 1_763_500_000_000;

/** @param {number} turn */
export function at(turn) {
  return STARTED + turn * 71_000;
}

/** @param {number} turn */
export function effortAt(turn) {
  const place = (turn - 1) % PERIOD;
  return place < PERIOD - 2 ? Math.floor((turn - 1) / PERIOD) : null;
}

/** @param {number} turn */
export function words(turn) {
  const index = effortAt(turn);
  if (index === null) return { ...smallTalk(turn), tool: null, result: null };
  const story = chapter(index);
  const place = Math.min(4, Math.floor(((turn - 1) % PERIOD) / 2));
  const isTool = ((turn - 1) % PERIOD) % 2 === 1;
  return {
    ask: isTool ? `And again, more exactly (turn ${turn}).` : String(story.asks[place]),
    reply: String(story.replies[place]),
    tool: isTool ? story.tool : null,
    result: isTool ? story.result : null,
  };
}

/**
 * When effort `index` opened, concluded, was expanded, collapsed and evicted.
 * @param {number} index
 */
export function effortTurns(index) {
  const opened = index * PERIOD + 1;
  const concluded = opened + CONCLUDED_AT;
  const expanded = index % 3 === 0 ? concluded + 18 : null;
  return { opened, concluded, expanded, collapsed: expanded && expanded + 6, evicted: concluded + SHOWN_TURNS };
}

/** @param {number} turn */
export function epochSince(turn) {
  return Math.floor((turn - 1) / EPOCH) * EPOCH + 1;
}

const CAUSES = ["full", "cheaper", "full", "expired"];

/** @param {number} turn */
export function rewritten(turn) {
  if (turn === 1) return "first";
  return epochSince(turn) === turn ? String(CAUSES[Math.floor(turn / EPOCH) % CAUSES.length]) : null;
}

/** Efforts by their place at a turn. @param {number} turn */
export function effortsAt(turn) {
  const last = Math.floor((turn - 1) / PERIOD);
  const first = Math.max(0, last - 9);
  const list = [];
  for (let index = first; index <= last; index += 1) {
    const turns = effortTurns(index);
    const { concluded, expanded, collapsed, evicted } = turns;
    let place = "shown";
    if (turn < concluded) place = "active";
    else if (expanded && collapsed && turn >= expanded && turn < collapsed) place = "expanded";
    else if (turn >= evicted) place = "evicted";
    list.push({ index, place, turns });
  }
  return list;
}

/** @param {number} turn @returns {Record<string, number>} */
export function layers(turn) {
  const efforts = effortsAt(turn);
  const shown = efforts.filter((effort) => effort.place === "shown").length;
  const since = epochSince(turn);
  /** @type {Record<string, number>} */
  const tokens = { protocol: 412, tools: 498, profile: 38, censors: 24, focus: 18, decisions: 96, facts: 143, procedures: 61 };
  tokens.summaries = shown * 74;
  tokens.note = 58;
  tokens.ambient = 120 + (since % 5) * 31;
  tokens.expanded = efforts.some((effort) => effort.place === "expanded") ? 1_480 : 0;
  tokens.active = effortAt(since) === null ? 0 : 320 + ((since - 1) % PERIOD) * 130;
  tokens.tail = (turn - since) * 236;
  tokens.message = 40 + (turn % 7) * 22;
  return Object.fromEntries(Object.entries(tokens).filter(([, value]) => value > 0));
}

/** @param {number} turn */
export function total(turn) {
  return Object.values(layers(turn)).reduce((sum, value) => sum + value, 0);
}

/** @param {number} turn @returns {Api.Cost} */
export function cost(turn) {
  const sent = total(turn);
  const cached = rewritten(turn) === null ? sent - 236 - (40 + (turn % 7) * 22) : turn === 1 ? 0 : 910;
  return { calls: 1, sent, cached, output: 90, nanodollars: cached * 300 + (sent - cached) * 3_750 + 90 * 15_000 };
}

/** @param {number} turn @returns {Api.SeriesRow} */
export function seriesRow(turn) {
  return {
    turn, at: at(turn), state: "completed", budget: BUDGET, tokens: layers(turn), tokens_total: total(turn),
    naive_tokens: 910 + turn * 310, epoch_since: epochSince(turn), rewritten: rewritten(turn), cost: cost(turn), requests: [],
  };
}

/** @param {number} turn @returns {Api.TurnRow} */
export function turnRow(turn) {
  const index = effortAt(turn);
  const happened = changesOf(turn).map((change) => change.kind);
  return {
    ...seriesRow(turn), message: words(turn).ask.slice(0, 200), happened,
    scope: index === null ? "ambient" : { effort: chapter(index).id },
  };
}

/** @param {number} turn @returns {Api.Change[]} */
export function changesOf(turn) {
  /** @type {Api.Change[]} */
  const changes = [];
  const put = (/** @type {string} */ kind, /** @type {string[]} */ ids, /** @type {any} */ cause = null, /** @type {number | null} */ tokens = null) =>
    changes.push({ turn, seq: turn * 10 + changes.length, at: at(turn), kind, ids, cause, tokens });
  const cause = rewritten(turn);
  if (cause) put("epoch_began", [], cause);
  if (turn % EPOCH === 6 && turn > EPOCH) put("span_compacted", [`t${turn - 5}-${turn - 2}@${chapter(Math.floor((turn - 1) / PERIOD)).id}`], null, 131);
  if (turn % PERIOD === 1) put("memories_loaded", ["f7", "d2", "p1"], turn === 1 ? "first" : "new_topic", 300);
  for (const { index, turns } of effortsAt(turn)) {
    const id = [chapter(index).id];
    if (turns.opened === turn) put("effort_opened", id);
    if (turns.concluded === turn) put("effort_concluded", id, null, 74);
    if (turns.expanded === turn) put("effort_expanded", id, null, 1_480);
    if (turns.collapsed === turn) put("effort_collapsed", id, { decayed: { inactive_turns: 5 } }, 1_480);
    if (turns.evicted === turn) put("summaries_evicted", id, null, 74);
  }
  return changes;
}

/** The efforts of a session with their turns, open ones first. @param {number} turns @returns {{ effort: Api.Effort, turns: ReturnType<typeof effortTurns> }[]} */
export function effortRows(turns) {
  const list = [];
  for (let index = Math.floor((turns - 1) / PERIOD); index >= 0; index -= 1) {
    const own = effortTurns(index);
    const { concluded, expanded, collapsed, evicted } = own;
    const story = chapter(index);
    const isOpen = turns < concluded;
    const isExpanded = Boolean(expanded && collapsed && turns >= expanded && turns < collapsed);
    const place = isOpen ? "active" : isExpanded ? "expanded" : turns >= evicted ? "evicted" : "shown";
    list.push({ turns: own, effort: {
      id: story.id, name: story.name, status: isOpen ? "open" : "concluded", place, active: isOpen, expanded: isExpanded,
      raw_tokens: 3_100 + (index % 7) * 410, exchanges: 10, summary: isOpen ? null : story.summary, summary_tokens: isOpen ? null : 74,
      expansion_cost_tokens: isExpanded ? 1_480 : null, last_referenced_turn: Math.min(turns, collapsed ?? concluded),
    } });
  }
  return list;
}

/** @param {number} turns */
export function efforts(turns) {
  return effortRows(turns).map((row) => row.effort);
}
