// A memory: what it says, where it comes from, what replaced it, and what can be done with it.

import { change, get, pathOf } from "./api.js";
import { confirmByName } from "./dialog.js";
import { fill, h } from "./dom.js";
import { failureBox } from "./empty.js";
import { counted, time, words } from "./format.js";
import { openEditor } from "./memory_edit.js";
import { authorName, bodyRows, marks, memoryLine, statusKind } from "./memory_text.js";
import { notify } from "./notice.js";
import { placeHash } from "./router.js";
import { oneLine, visible } from "./safe_text.js";

/** @type {[string, string, string][]} */
const ACTIONS = [
  ["confirm", "Confirm", "a person vouches for it"],
  ["core", "Mark as core", "never to be doubted"],
  ["wrong", "Wrong", "it is not true"],
  ["retire", "Retire", "no longer used"],
];
const FITTING = new Map([["confirm", ["fact", "decision", "procedure", "episode", "censor"]], ["core", ["fact"]], ["wrong", ["fact"]], ["retire", ["procedure", "censor", "decision", "episode"]]]);

/**
 * @param {Api.Memory} memory
 * @param {AbortSignal} signal
 * @param {{ onChanged: (memory: Api.Memory) => void, onForgotten: (id: string) => void, choose: (id: string) => void }} on
 */
export function memoryDetail(memory, signal, on) {
  const { id, provenance } = memory;
  const past = h("div", { class: "stack" });
  // What is forgotten must not be asked for.
  const reads = new AbortController();
  const stops = AbortSignal.any([signal, reads.signal]);

  /** @param {string} action */
  async function act(action) {
    try {
      /** @type {Api.MemoryChange} */
      const changed = await change("POST", pathOf("memories", id, action));
      told(changed, action === "undo");
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "bad");
    }
  }

  /** @param {Api.MemoryChange} changed @param {boolean} isUndo */
  function told(changed, isUndo) {
    const text = `${id} ${words(changed.status)}. ${changed.note}`.trim();
    notify(text, "", isUndo ? undefined : { label: "Undo", act: () => act("undo") });
    on.onChanged(changed.memory);
  }

  async function forget() {
    try {
      /** @type {Api.Erasure} */
      const preview = await get(pathOf("memories", id, "erasure"), {}, signal);
      confirmByName({
        title: `Forget ${id}`, name: id, action: "Forget for good",
        content: [
          h("p", { class: "said" }, memoryLine(preview.memory)),
          h("p", {}, `Its ${counted(preview.versions, "version")} leave the store for good; only a note stays that a memory was there. Conversations that say the same keep their words.`),
          preview.takes.length > 0 && h("div", {}, h("h3", {}, "It takes along"),
            h("ul", { class: "examples" }, preview.takes.map((each) => h("li", {}, h("span", { class: "tag warn" }, each.id), " ", words(each.how))))),
        ],
        act: async () => {
          reads.abort();
          await change("DELETE", pathOf("memories", id), undefined, { confirm: id });
          notify(`${id} is forgotten.`);
          on.onForgotten(id);
        },
      });
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "bad");
    }
  }

  async function loadPast() {
    try {
      const [chain, history] = await Promise.all([get(pathOf("memories", id, "chain"), {}, stops), get(pathOf("memories", id, "history"), { limit: 200 }, stops)]);
      fill(past, chainList(chain.items), historyList(history.items));
    } catch (error) {
      if (!stops.aborted) fill(past, failureBox(error, loadPast));
    }
  }

  /** @param {Api.Memory[]} items */
  function chainList(items) {
    if (items.length < 2) return null;
    return h("div", {}, h("h3", {}, "What replaced what"), h("ol", { class: "chain" }, items.map((each) => h("li", { "aria-current": each.id === id ? "true" : null },
      each.id === id ? h("strong", {}, each.id) : h("button", { class: "link-like", type: "button", click: () => on.choose(each.id) }, each.id),
      " ", h("span", { class: `tag ${statusKind(each.status)}` }, each.status), " ", memoryLine(each)))));
  }

  /** @param {Api.Version[]} versions */
  function historyList(versions) {
    return h("div", {}, h("h3", {}, "History"), h("ol", { class: "history" }, [...versions].reverse().map((version) => h("li", {},
      h("span", { class: "small muted number" }, time(version.at)), " ",
      h("span", {}, h("strong", {}, words(version.change)), oneLine(` ${[version.by ?? version.with, version.evidence ?? version.reason].filter(Boolean).join(": ")}`, 200)),
      h("span", { class: "small muted history-text" }, memoryLine(version.memory))))));
  }

  loadPast();
  const source = provenance.session && provenance.turn
    ? h("a", { href: placeHash("timeline", provenance.session, { turn: provenance.turn }) }, oneLine(`${provenance.session}, turn ${provenance.turn}`, 120))
    : oneLine(provenance.source ?? "outside sessions", 120);
  const button = (/** @type {string} */ name, /** @type {string} */ about, /** @type {() => void} */ click, kind = "") => h("button", { class: `button ${kind}`, type: "button", title: about, click }, name);
  const content = [
    h("div", { class: "row" }, h("span", { class: `tag ${statusKind(memory.status)}` }, memory.status), marks(memory).map(([kind, text]) => h("span", { class: `tag ${kind}` }, text)),
      (memory.tags ?? []).map((tag) => h("span", { class: "tag" }, oneLine(tag, 40))), memory.domain && h("span", { class: "small muted" }, oneLine(memory.domain, 60))),
    h("div", { class: "row" },
      button("Edit", "change its words", () => openEditor(memory, (changed) => told(changed, false)), "main-action"),
      button("Undo", "take the last change back", () => act("undo")),
      ACTIONS.filter(([action]) => FITTING.get(action)?.includes(memory.body.kind)).map(([action, name, about]) => button(name, about, () => act(action))),
      button("Forget …", "erase it for good", forget, "danger")),
    h("dl", { class: "pairs" },
      bodyRows(memory.body).flatMap(([name, text]) => [h("dt", {}, words(name)), h("dd", { class: "said" }, visible(text))]),
      h("dt", {}, "written by"), h("dd", {}, `${authorName(provenance.author)}, trust ${provenance.trust}`),
      h("dt", {}, "comes from"), h("dd", {}, source),
      h("dt", {}, "written"), h("dd", {}, time(memory.created)),
      memory.valid_until ? [h("dt", {}, "valid until"), h("dd", {}, time(memory.valid_until))] : []),
    past,
  ];
  return { title: `${id} · ${memory.body.kind}`, content };
}
