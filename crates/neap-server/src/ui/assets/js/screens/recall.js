// The screen Recall: a question, what competes to answer it, and why.

import { ApiError, ask, get, pathOf } from "../api.js";
import { fill, h } from "../dom.js";
import { emptyBox, failureBox, loadingBox } from "../empty.js";
import { count } from "../format.js";
import { memoryLine } from "../memory_text.js";
import { expectedText, fateNotice, fateOf, hitRow, memoryRow, MEMORY_PARTS, TEXT_PARTS } from "../recall_rows.js";
import { partsLegend } from "../parts_bar.js";
import { replaceQuery } from "../router.js";
import { screenHead } from "../screen_head.js";

const HITS_MAX = 30;
const SHOWN_MAX = 100;
const TEXTS_MAX = 30;

/** @type {import("../screens.js").Show} */
export async function show(host, { query, signal }) {
  let place = query.get("in") === "talk" ? "talk" : "memories";
  const question = h("input", { type: "search", value: query.get("q") ?? "", autocomplete: "off", required: true });
  const expected = h("input", { type: "text", value: query.get("expect") ?? "", autocomplete: "off", spellcheck: "false" });
  const results = h("div", { class: "stack loose" });
  const tab = (/** @type {string} */ id, /** @type {string} */ name) => h("button", { class: "button", type: "button", click: () => look(id) }, name);
  const tabs = new Map([["memories", tab("memories", "Memories")], ["talk", tab("talk", "What was said")]]);
  const expectedField = h("label", { class: "field" }, "Expected id (may be empty)", expected);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    search();
  };
  fill(host,
    screenHead("recall"),
    h("form", { class: "card recall-form", submit },
      h("label", { class: "field grows" }, "Question", question), expectedField,
      h("div", { class: "row" }, [...tabs.values()], h("button", { class: "button main-action", type: "submit" }, "Recall"))),
    results);
  let asked = new AbortController();

  /** @param {string} next */
  function look(next) {
    place = next;
    for (const [id, button] of tabs) button.setAttribute("aria-pressed", String(id === place));
    expected.placeholder = place === "memories" ? "f7" : "my-session/t12";
    search();
  }

  async function search() {
    const text = question.value.trim();
    replaceQuery({ q: text, in: place === "talk" ? "talk" : null, expect: expected.value.trim() });
    if (text === "") return fill(results, intro());
    asked.abort();
    asked = new AbortController();
    const stops = AbortSignal.any([signal, asked.signal]);
    const waits = setTimeout(() => !stops.aborted && fill(results, loadingBox()), 200);
    try {
      const shown = place === "talk" ? await searchTalk(text, stops) : await searchMemories(text, stops);
      if (!stops.aborted) fill(results, shown);
    } catch (error) {
      if (!stops.aborted) fill(results, failureBox(error, search));
    } finally {
      clearTimeout(waits);
    }
  }

  /** @param {string} text @param {AbortSignal} stops */
  async function searchMemories(text, stops) {
    /** @type {Api.Question} */
    const answer = await ask("/memories/context", { question: text, frame: null, budget: null }, stops);
    await addTexts(answer.candidates, stops);
    const id = expected.value.trim();
    const fate = id === "" ? null : await fateOf(id, answer, (each) => get(pathOf("memories", each), {}, stops));
    if (answer.candidates.length === 0 && !fate) return [emptyBox("No candidate", "The agent has no memory that resembles the question. `neap remember` stores one.")];
    const loaded = answer.candidates.filter((candidate) => candidate.loaded).length;
    return [
      fate && fateNotice(id, fate),
      h("section", { class: "card stack" },
        h("div", { class: "row apart" },
          h("h2", {}, `${count(loaded)} of ${count(answer.candidates.length)} candidates loaded`),
          h("span", { class: "muted small" }, `${count(answer.tokens_total)} of ${count(answer.budget)} tokens, in ${answer.build_ms.toFixed(1)} ms`)),
        partsLegend(MEMORY_PARTS),
        h("ol", { class: "candidates" }, answer.candidates.slice(0, SHOWN_MAX).map((candidate) => memoryRow(candidate, candidate.id === id)))),
    ];
  }

  /** @param {string} text @param {AbortSignal} stops */
  async function searchTalk(text, stops) {
    const id = expected.value.trim();
    const asked = { query: text, in: "talk", max: HITS_MAX };
    /** @type {[{ items: Api.Hit[], note: string | null }, Api.Expected | null]} */
    const [answer, fate] = await Promise.all([ask("/search", asked, stops), id === "" ? null : followed({ ...asked, expect: id }, stops)]);
    if (answer.items.length === 0) return [fate && expectedText(fate), emptyBox("Nothing found", "Try a rarer word, a name or a number.")];
    const best = Math.max(...answer.items.map((hit) => hit.score));
    return [
      fate && expectedText(fate),
      answer.note !== null && h("p", { class: "notice" }, answer.note),
      h("section", { class: "card stack" }, h("h2", {}, `${count(answer.items.length)} found, best first`), partsLegend(TEXT_PARTS),
        h("ol", { class: "candidates" }, answer.items.map((hit) => hitRow(hit, best)))),
    ];
  }

  look(place);
}

/** What became of an expected text; what is no id is stored nowhere. @param {{ expect: string }} question @param {AbortSignal} stops @returns {Promise<Api.Expected>} */
async function followed(question, stops) {
  try {
    return await ask("/search/expect", question, stops);
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return { expected: question.expect, outcome: { stage: "not_stored", shared: [] } };
    throw error;
  }
}

/** The words of the best candidates, where the answer has only their ids. @param {Api.Candidate[]} candidates @param {AbortSignal} stops */
async function addTexts(candidates, stops) {
  const bare = candidates.filter((candidate) => candidate.text === undefined).slice(0, TEXTS_MAX);
  await Promise.all(bare.map(async (candidate) => {
    candidate.text = memoryLine(await get(pathOf("memories", candidate.id), {}, stops));
  }));
}

function intro() {
  return emptyBox("What would be recalled?", "Type a question. Memories are ranked by likeness, priority, recency, outcome, usage and confidence; what was said is ranked by words and meaning. Name an expected id to see where it was dropped.");
}
