// The blocks of a turn's prompt.

import { BUDGET, changesOf, cost, effortAt, effortsAt, epochSince, layers, rewritten, total, words } from "./session.js";
import { chapter } from "./story.js";

const FIXED = new Map([
  ["protocol", ["You keep efforts. An effort is a piece of work with a beginning and an end. Call open_effort when work begins, conclude_effort when it is done.\nLines that begin with §[ are Neap's own.\n".repeat(4), "the rules of efforts, in every prompt"]],
  ["tools", ["open_effort(name)\nconclude_effort(id)\nexpand_effort(id)\ncollapse_effort(id)\nsearch(query)\noriginal(handle)\nremember(fact)\n", "the tools that Neap offers"]],
  ["profile", ["- The person prefers short answers and figures with units.\n", "a preference that is always loaded"]],
  ["censors", ["- Never run a migration on production without a person's yes.\n", "a rule that a person put in force"]],
  ["focus", ["Focus: be exact about numbers.\n", "the frame 'task'"]],
  ["decisions", ["- d2 Keep sessions in PostgreSQL, not in Redis (0.8): one system less to restore.\n", "chosen for turn 1: likeness 0.61"]],
  ["facts", ["- f7 Staging runs PostgreSQL 16.\n- f9 The gateway listens on port 8443.\n- f12 Invoices are rounded once per tax rate since 2026-12-01.\n", "chosen for turn 1: likeness 0.58"]],
  ["procedures", ["- p1 Release: tag, build, deploy to staging, wait 30 min, deploy to production.\n", "chosen for turn 1: likeness 0.44"]],
  ["note", ["§[efforts] in play: see above. expand_effort shows a log, search finds what is not shown.\n", "how to reach what is not shown"]],
]);

/**
 * @typedef {{ layer: string, role: string, text: string, why: string, turn: number | null, effort: string | null }} Draft
 */

/** @param {number} turn @returns {Draft[]} */
function drafts(turn) {
  const since = epochSince(turn);
  /** @type {Draft[]} */
  const list = [];
  const put = (/** @type {string} */ layer, /** @type {string} */ role, /** @type {string} */ text, /** @type {string} */ why, /** @type {number | null} */ of = null, /** @type {string | null} */ effort = null) =>
    list.push({ layer, role, text, why, turn: of, effort });
  for (const [layer, [text, why]] of FIXED) {
    if (layer !== "note") put(layer, "system", String(text), String(why));
  }
  const efforts = effortsAt(turn);
  for (const { index, place, turns } of efforts) {
    const story = chapter(index);
    if (place === "shown") put("summaries", "user", `§[summary of ${story.id}, t${turns.opened}-${turns.concluded}] ${story.summary}\n`, `concluded in turn ${turns.concluded}, referenced since`, turns.concluded, story.id);
  }
  const [note, why] = /** @type {string[]} */ (FIXED.get("note"));
  put("note", "user", String(note), String(why));
  exchange(put, "ambient", Math.max(1, since - 2), "recent chat outside efforts", null);
  for (const { index, place, turns } of efforts) {
    const effort = chapter(index).id;
    if (place !== "expanded") continue;
    for (let of = turns.opened; of < turns.concluded; of += 1) exchange(put, "expanded", of, `expanded in turn ${turns.expanded}, because it was asked for`, effort);
  }
  const active = effortAt(since);
  if (active !== null) {
    const start = active * 12 + 1;
    const effort = chapter(active).id;
    if (since - start > 4) put("active", "user", `§[t${start}-${since - 5}@${effort} in short] The cause was found; figures are in the original.\n`, "older exchanges of the active effort, in short", start, effort);
    for (let of = Math.max(start, since - 4); of < since; of += 1) exchange(put, "active", of, "the log of the active effort, newest part", effort);
  }
  for (let of = since; of < turn; of += 1) exchange(put, "tail", of, `said since the prompt was rewritten for turn ${since}`, null);
  put("message", "user", words(turn).ask, "the new message", turn);
  return list;
}

/** @param {Function} put @param {string} layer @param {number} of @param {string} why @param {string | null} effort */
function exchange(put, layer, of, why, effort) {
  const said = words(of);
  put(layer, "user", said.ask, why, of, effort);
  if (said.tool) put(layer, "tool", `${said.tool} → ${said.result}`, why, of, effort);
  put(layer, "assistant", said.reply, why, of, effort);
}

/** @param {number} turn @returns {Api.Block[]} */
export function blocks(turn) {
  const list = drafts(turn);
  const share = layers(turn);
  const chars = new Map();
  for (const { layer, text } of list) chars.set(layer, (chars.get(layer) ?? 0) + text.length);
  let before = 0;
  const { cached } = cost(turn);
  return list.map((draft, block) => {
    const tokens = Math.max(1, Math.round(((share[draft.layer] ?? 1) * draft.text.length) / chars.get(draft.layer)));
    before += tokens;
    return { block, layer: draft.layer, role: draft.role, text: draft.text, why: draft.why, turn: draft.turn, ...(draft.effort === null ? {} : { effort: draft.effort }), tokens, chars: draft.text.length, cached: before <= cached + 8 };
  });
}

/** @param {number} turn @returns {Api.Prompt} */
export function prompt(turn) {
  const all = blocks(turn);
  return {
    turn, kind: "assembled", exact: true, note: null, budget: BUDGET, tokens_total: total(turn), cached_tokens: cost(turn).cached,
    layers: Object.entries(layers(turn)).map(([layer, tokens]) => ({ layer, tokens })), blocks: all, next: null,
  };
}

/** @param {number} from @param {number} to @returns {Api.Diff} */
export function diff(from, to) {
  const before = blocks(from);
  const after = blocks(to);
  const key = (/** @type {Api.Block} */ block) => `${block.layer}\n${block.text}`;
  const old = new Set(before.map(key));
  const fresh = new Set(after.map(key));
  const entry = (/** @type {"same" | "added" | "removed"} */ change) => (/** @type {Api.Block} */ block) => {
    const { layer, role, tokens, text, block: number } = block;
    return { change, layer, role, tokens, text: text.slice(0, 400), block: number };
  };
  const kept = after.filter((block) => old.has(key(block)));
  const list = [
    ...before.filter((block) => !fresh.has(key(block))).map(entry("removed")),
    ...after.map((block) => entry(old.has(key(block)) ? "same" : "added")(block)),
  ];
  return { from, to, exact: true, same_tokens: kept.reduce((sum, block) => sum + block.tokens, 0), blocks: list };
}

/** @param {Api.Change} change */
function asEvent({ turn, kind, ids = [], cause, tokens }) {
  if (kind === "memories_loaded") return { type: kind, turn, loaded: { cause, items: ids.map((id) => ({ id })) } };
  if (kind === "epoch_began") return { type: kind, turn, cause };
  if (kind === "summaries_evicted") return { type: kind, turn, ids };
  return { type: kind, turn, id: ids[0], cause, tokens_loaded: kind === "effort_expanded" ? tokens : undefined, tokens_freed: kind === "effort_collapsed" ? tokens : undefined };
}

/** @param {number} turn */
export function turnDetail(turn) {
  const said = words(turn);
  const since = epochSince(turn);
  const shown = effortsAt(turn).filter((effort) => effort.place === "shown");
  const { cached } = cost(turn);
  return {
    turn, message: said.ask, author: "person", reply: said.reply, abandoned: null, happened: changesOf(turn).map(asEvent),
    rounds: said.tool ? [{ assistant: { role: "assistant", content: "", tool_calls: [{ id: "c1", name: said.tool, arguments: "{\"path\":\"src/token.rs\"}" }], tokens: 22 }, results: [{ role: "tool", content: said.result, tokens: 80 }] }] : [],
    scope: effortAt(turn) === null ? "ambient" : { effort: chapter(Number(effortAt(turn))).id },
    ledger: {
      budget: BUDGET, tokens: layers(turn), naive_tokens: 910 + turn * 310, summaries: shown.map((effort) => chapter(effort.index).id),
      evicted: Math.max(0, Math.floor((turn - 70) / 12)), epoch_since: since, cost: { ...cost(turn), cached }, memories: ["f7", "d2", "p1"],
      logs: [{ scope: "ambient", layer: "ambient", exchanges: 1, left_out: Math.max(0, Math.floor(turn / 6) - 1), tokens: 120 }],
    },
    epoch_cause: rewritten(since) ?? "full",
    chosen: { turn: Math.max(1, turn - ((turn - 1) % 12)), loaded: { frame: "task", frame_confidence: 0.5, cause: "new_topic", considered: 14, tokens: 300, budget: 800, items: [{ id: "f7", score: 0.71, similarity: 0.58, tokens: 48 }, { id: "d2", score: 0.69, similarity: 0.61, tokens: 96 }, { id: "p1", score: 0.5, similarity: 0.44, tokens: 61 }] } },
  };
}
