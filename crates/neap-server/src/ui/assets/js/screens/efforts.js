// The screen Efforts: each piece of work as a lane over turns.

import { get, pathOf } from "../api.js";
import { fill, h } from "../dom.js";
import { effortDetail, placeTag } from "../effort_detail.js";
import { effortLane, PHASE_NAMES, rangeOf, stretches } from "../effort_lane.js";
import { EffortHistory } from "../effort_history.js";
import { emptyBox } from "../empty.js";
import { count } from "../format.js";
import { KeysetList } from "../keyset.js";
import { gather, onLive } from "../live.js";
import { masterDetail, rowPixels } from "../master_detail.js";
import { replaceQuery } from "../router.js";
import { oneLine } from "../safe_text.js";
import { screenHead } from "../screen_head.js";
import { virtualList } from "../virtual_list.js";

const LIVE_WAIT_MS = 200;
const READ_WAIT_MS = 60;

/** @type {import("../screens.js").Show} */
export async function show(host, { session, query, signal }) {
  const path = pathOf("sessions", session);
  /** @type {KeysetList<Api.Effort>} */
  let efforts = new KeysetList(`${path}/efforts`, {}, signal);
  let turns = 1;
  let chosen = query.get("effort") ?? "";
  let range = { from: 1, to: 1 };
  let history = new EffortHistory(`${path}/changes`, signal);
  /** The ids of the rows in view. @type {string[]} */
  let seen = [];

  const list = virtualList({ label: "Efforts", rowHeight: rowPixels(4), row: drawRow, onRange: (first, last) => inView(first, last) });
  const axis = h("div", { class: "lane-axis small muted", "aria-hidden": "true" });
  const legend = h("ul", { class: "legend small muted" }, Object.entries(PHASE_NAMES).map(([phase, name]) =>
    h("li", {}, h("span", { class: `phase-swatch phase-${phase}` }), name)));
  const card = h("div", { class: "card flush" }, h("div", { class: "list-top" }, legend, axis), list.element);
  const pair = masterDetail(card, emptyBox("Choose an effort", "Its summary and its whole log appear here."), "The chosen effort", "even");
  fill(host, screenHead("efforts"), pair.element);

  /** @param {number} index */
  function drawRow(index) {
    const effort = efforts.items[index];
    if (!effort) return h("div", { class: "list-head" }, "…");
    return h("div", {}, h("button", { class: "item effort-item", type: "button", "aria-current": effort.id === chosen ? "true" : null, click: () => choose(effort, true) },
      h("span", { class: "clip" }, h("span", { class: "row apart nowrap" }, h("span", { class: "clip" }, oneLine(effort.name, 80)), placeTag(effort.place)),
        effortLane(stretchesOf(effort), range))));
  }

  /** @param {Api.Effort} effort */
  const stretchesOf = (effort) => stretches(effort, history.of(effort.id), turns);

  /** The axis follows the rows in view. @param {number} first @param {number} last */
  async function inView(first, last) {
    const rows = efforts.items.slice(first, last + 1);
    seen = rows.map((effort) => effort.id);
    const next = rangeOf(rows.map(stretchesOf), turns);
    if (next.from !== range.from || next.to !== range.to) {
      range = next;
      fill(axis, h("span", {}, `turn ${count(range.from)}`), h("span", {}, count(range.to)));
      list.refresh();
    }
    if (seen.some((id) => !history.isWhole(id))) readHistory();
    if (last >= efforts.items.length - 20 && !efforts.isWhole && efforts.fetching === null) {
      await efforts.reach(efforts.items.length + 1);
      if (!signal.aborted) list.setCount(efforts.items.length);
    }
  }

  const readHistory = gather(async () => {
    try {
      if (await history.reach(seen)) list.refresh();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }, READ_WAIT_MS, signal);

  /** @param {Api.Effort} effort @param {boolean} asked */
  function choose(effort, asked) {
    chosen = effort.id;
    replaceQuery({ effort: chosen });
    const { title, content } = effortDetail(session, effort, signal, reloadAll);
    pair.show(title, content, asked);
    list.refresh();
  }

  async function reloadAll() {
    const fresh = new KeysetList(`${path}/efforts`, {}, signal);
    const [found] = await Promise.all([get(path, {}, signal), fresh.reach(Math.max(1, efforts.items.length))]);
    turns = found.turns;
    efforts = /** @type {KeysetList<Api.Effort>} */ (fresh);
    history = new EffortHistory(`${path}/changes`, signal);
    if (efforts.items.length === 0) {
      fill(host, screenHead("efforts"), emptyBox("No effort yet", "An effort opens when there is something to work on: state a trouble, a task or a plan. When it is done, a summary takes its place in the context."));
      return;
    }
    if (!pair.element.isConnected) fill(host, screenHead("efforts"), pair.element);
    list.setCount(efforts.items.length);
    const again = efforts.items.find((effort) => effort.id === chosen);
    if (again) choose(again, false);
  }

  const reload = gather(reloadAll, LIVE_WAIT_MS, signal);
  onLive(({ kind, data }) => {
    if (kind === "effort" && data.session === session) reload();
  }, signal);
  await reloadAll();
  if (chosen !== "" && !efforts.items.some((effort) => effort.id === chosen)) {
    choose(await get(pathOf("sessions", session, "efforts", chosen), {}, signal), true);
  } else if (chosen === "" && efforts.items[0]) choose(efforts.items[0], false);
}
