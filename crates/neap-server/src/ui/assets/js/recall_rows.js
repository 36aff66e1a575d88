// Candidates of a recall, each with its score as parts of a bar.

import { ApiError } from "./api.js";
import { h } from "./dom.js";
import { time, words } from "./format.js";
import { partsBar } from "./parts_bar.js";
import { placeHash } from "./router.js";
import { oneLine, visible } from "./safe_text.js";

/** What each part weighs in a memory's score. */
const WEIGHTS = { similarity: 0.5, priority: 0.15, recency: 0.15, outcome: 0.1, usage: 0.05, confidence: 0.05 };
/** @type {Record<string, string>} */
const NAMES = { similarity: "likeness" };
const WORD_PARTS = ["words", "meaning", "beside", "conversation", "speaker", "time", "opening", "lately", "here", "file", "decision"];

export const MEMORY_PARTS = Object.keys(WEIGHTS).map((name, index) => ({ name: NAMES[name] ?? name, kind: String(index) }));
export const TEXT_PARTS = WORD_PARTS.map((name, index) => ({ name, kind: String(index) }));

/** @param {Api.Candidate} candidate @param {boolean} isExpected */
export function memoryRow(candidate, isExpected) {
  const parts = Object.entries(WEIGHTS).map(([name, weight], index) => {
    const value = /** @type {Record<string, any>} */ (candidate)[name];
    return { name: NAMES[name] ?? name, value: Number(value) * weight, kind: String(index), note: Number(value).toFixed(2) };
  });
  return h("li", { class: `candidate ${isExpected ? "expected" : ""}` },
    h("div", { class: "row apart" },
      h("span", { class: "row" }, h("a", { href: placeHash("memories", "", { id: candidate.id }) }, candidate.id),
        h("span", { class: candidate.loaded ? "tag good" : "tag" }, candidate.loaded ? "loaded" : "left out"),
        candidate.why !== "in" && h("span", { class: "small muted" }, oneLine(candidate.why, 200))),
      h("strong", { class: "number" }, candidate.score.toFixed(2))),
    partsBar(parts, 1),
    candidate.text !== undefined && h("p", { class: "said small" }, oneLine(candidate.text, 300)));
}

/** @param {Api.Hit} hit @param {number} best */
export function hitRow(hit, best) {
  const parts = WORD_PARTS.map((name, index) => ({ name, value: hit.why[name] ?? 0, kind: String(index), note: (hit.why[name] ?? 0).toFixed(2) }));
  const cost = hit.why.cost ?? 0;
  const where = hit.turn === undefined ? placeHash("efforts", hit.session, { effort: hit.effort }) : placeHash("timeline", hit.session, { turn: hit.turn });
  return h("li", { class: "candidate" },
    h("div", { class: "row apart" },
      h("span", { class: "row" },
        h("a", { href: where }, `${oneLine(hit.session, 60)}${hit.turn === undefined ? "" : `, turn ${hit.turn}`}`),
        h("span", { class: "tag" }, words(hit.kind)), hit.effort && h("span", { class: "small muted" }, oneLine(hit.effort, 60)),
        h("span", { class: "small muted" }, time(hit.at))),
      h("strong", { class: "number", title: cost > 0 ? `cost −${cost.toFixed(2)}` : "" }, hit.score.toFixed(2))),
    partsBar(parts, best + cost),
    h("p", { class: "said small" }, visible(hit.text)));
}

/** @param {string} id @param {{ stage: string, why: string, good: boolean }} fate */
export function fateNotice(id, fate) {
  return h("p", { class: `notice ${fate.good ? "" : "bad"}`, role: "status" }, h("strong", {}, `${oneLine(id, 60)}: ${fate.stage}. `), fate.why);
}

/** @type {Record<string, string>} */
const LOST = {
  not_stored: "There is no such text.",
  not_searched: "This search does not look there.",
  not_proposed: "It is among neither the texts with the rarest shared words nor the nearest.",
  below_floor: "It shares no word with the question, and its meaning is too far.",
  beyond_limit: "Others come first.",
  found: "It is in the list.",
};

/** Where a text that was expected ended up. @param {Api.Expected} answer */
export function expectedText({ expected, outcome }) {
  const place = outcome.place === undefined ? "" : `It is number ${outcome.place}. `;
  const shared = outcome.score === undefined ? "" : ` Shared words: ${outcome.shared.length === 0 ? "none" : outcome.shared.join(", ")}.`;
  return fateNotice(expected, { stage: words(outcome.stage), why: oneLine(place + LOST[outcome.stage] + shared, 400), good: outcome.stage === "found" });
}

/**
 * Where a memory that was expected ended up.
 * @param {string} id
 * @param {Api.Question} answer
 * @param {(id: string) => Promise<Api.Memory>} fetchMemory
 * @returns {Promise<{ stage: string, why: string, good: boolean }>}
 */
export async function fateOf(id, answer, fetchMemory) {
  const place = answer.candidates.findIndex((candidate) => candidate.id === id);
  const found = answer.candidates[place];
  if (found) {
    const rank = `It is number ${place + 1} of ${answer.candidates.length}. `;
    return { stage: found.loaded ? "loaded" : "dropped by the selection", why: rank + found.why, good: found.loaded };
  }
  try {
    const memory = await fetchMemory(id);
    const by = memory.body.superseded_by ? ` by ${memory.body.superseded_by}` : "";
    const isOver = ["superseded", "inactive", "retired"].includes(memory.status);
    if (isOver) return { stage: "not in force", why: `It is ${memory.status}${by}, so it is not a candidate.`, good: false };
    if (memory.pinned) return { stage: "always loaded", why: "It does not compete: it is in every context.", good: true };
    return { stage: "not proposed", why: "The store did not propose it: its words and its meaning are too far from the question.", good: false };
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 400)) return { stage: "not stored", why: "There is no memory with this id.", good: false };
    throw error;
  }
}
