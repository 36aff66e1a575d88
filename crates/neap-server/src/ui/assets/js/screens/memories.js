// The screen Memories: what the agent knows, from whom, and what became of it.

import { get, pathOf } from "../api.js";
import { untilConfirmed } from "../dialog.js";
import { fill, h } from "../dom.js";
import { emptyBox, failureBox } from "../empty.js";
import { words } from "../format.js";
import { KeysetList } from "../keyset.js";
import { gather, onLive } from "../live.js";
import { masterDetail, rowPixels } from "../master_detail.js";
import { memoryDetail } from "../memory_detail.js";
import { authorName, AUTHORS, KINDS, marks, memoryLine, STATUSES, statusKind, TRUSTS } from "../memory_text.js";
import { replaceQuery } from "../router.js";
import { oneLine } from "../safe_text.js";
import { screenHead } from "../screen_head.js";
import { virtualList } from "../virtual_list.js";

const LIVE_WAIT_MS = 300;
const TYPING_WAIT_MS = 180;

/** @param {string} name */
const title = (name) => name.charAt(0).toUpperCase() + name.slice(1);

/** @type {import("../screens.js").Show} */
export async function show(host, { query, signal }) {
  /** @type {KeysetList<Api.Memory>} */
  let memories = new KeysetList("/memories", {}, signal);
  let chosen = query.get("id") ?? "";
  let loads = 0;
  const select = (/** @type {string} */ name, /** @type {string[]} */ values) => {
    const field = h("select", { change: () => filter() }, h("option", { value: "" }, "any"), values.map((value) => h("option", { value }, words(value))));
    field.value = query.get(name) ?? "";
    return { name, field };
  };
  const selects = [select("kind", KINDS), select("status", STATUSES), select("author", AUTHORS), select("trust", TRUSTS)];
  const search = h("input", { type: "search", autocomplete: "off", value: query.get("q") ?? "", input: () => typed() });
  const list = virtualList({ label: "Memories", rowHeight: rowPixels(4), row: drawRow, onRange: (_, last) => fetchMore(last) });
  const holder = h("div");
  const pair = masterDetail(h("div", { class: "card flush" }, list.element), emptyBox("Choose a memory", "What it says, where it comes from, what replaced it."), "The chosen memory", "even");
  fill(host,
    screenHead("memories"),
    h("form", { class: "card filters", submit: (/** @type {Event} */ event) => event.preventDefault() },
      h("label", { class: "field grows" }, "Words", search), selects.map(({ name, field }) => h("label", { class: "field" }, title(name), field))),
    holder);

  /** @param {number} index */
  function drawRow(index) {
    const memory = memories.items[index];
    if (!memory) return h("div", { class: "list-head" }, "…");
    return h("div", {}, h("button", { class: "item", type: "button", "aria-current": memory.id === chosen ? "true" : null, click: () => choose(memory, true) },
      h("span", { class: "memory-id" }, memory.id),
      h("span", { class: "clip" }, h("span", { class: "top" }, memoryLine(memory)),
        h("span", { class: "below" }, oneLine(`${words(memory.body.kind)}, by ${authorName(memory.provenance.author)}`, 80), marks(memory).map(([, text]) => `, ${text}`))),
      h("span", { class: `tag ${statusKind(memory.status)}` }, memory.status)));
  }

  /** @param {number} last */
  async function fetchMore(last) {
    if (last < memories.items.length - 20 || memories.isWhole || memories.fetching !== null) return;
    await memories.reach(memories.items.length + 1);
    if (!signal.aborted) list.setCount(memories.items.length);
  }

  /** @param {Api.Memory} memory @param {boolean} asked */
  function choose(memory, asked) {
    chosen = memory.id;
    replaceQuery({ id: chosen });
    const index = memories.items.findIndex((each) => each.id === memory.id);
    if (index >= 0) memories.items[index] = memory;
    const { title, content } = memoryDetail(memory, signal, {
      onChanged: (changed) => choose(changed, false),
      onForgotten: () => {
        chosen = "";
        load();
      },
      choose: fetchAndChoose,
    });
    pair.show(title, content, asked);
    list.refresh();
  }

  /** @param {string} id */
  async function fetchAndChoose(id) {
    choose(await get(pathOf("memories", id), {}, signal), true);
  }

  function filters() {
    return Object.fromEntries([["q", search.value.trim()], ...selects.map(({ name, field }) => [name, field.value])]);
  }

  function filter() {
    replaceQuery(filters());
    load();
  }

  async function load() {
    loads += 1;
    const own = loads;
    try {
      const fresh = /** @type {KeysetList<Api.Memory>} */ (new KeysetList("/memories", filters(), signal));
      await fresh.reach(1);
      // A later one has begun, or somebody is about to forget what this would show.
      if (own !== loads) return;
      await untilConfirmed();
      if (own !== loads) return;
      memories = fresh;
    } catch (error) {
      if (!signal.aborted) fill(holder, failureBox(error, load));
      return;
    }
    const isFiltered = Object.values(filters()).some((value) => value !== "");
    if (memories.items.length === 0) {
      fill(holder, isFiltered ? emptyBox("No memory fits", "No memory has all that the filters ask for.")
        : emptyBox("No memory yet", "A memory is a fact, a decision, a procedure, an episode or a rule that outlives a conversation. Say one to an agent, or type:", ["neap remember \"Tim prefers Celsius\" --always"]));
      return;
    }
    if (!pair.element.isConnected) fill(holder, pair.element);
    list.setCount(memories.items.length);
    const again = memories.items.find((memory) => memory.id === chosen) ?? (chosen === "" ? memories.items[0] : undefined);
    if (again) choose(again, false);
  }

  const typed = gather(async () => filter(), TYPING_WAIT_MS, signal);
  const reload = gather(load, LIVE_WAIT_MS, signal);
  onLive(({ kind, data }) => {
    if (kind === "memory" && (data.kind === "memory_changed" || data.kind === "memory_erased")) reload();
  }, signal);
  await load();
  if (chosen !== "" && !memories.items.some((memory) => memory.id === chosen)) await fetchAndChoose(chosen);
}
