// The screen Receipts: what each summary retained of its original.

import { pathOf } from "../api.js";
import { fill, h } from "../dom.js";
import { emptyBox } from "../empty.js";
import { count } from "../format.js";
import { KeysetList } from "../keyset.js";
import { gather, onLive } from "../live.js";
import { masterDetail, rowPixels } from "../master_detail.js";
import { partsLegend } from "../parts_bar.js";
import { OUTCOMES, receiptDetail, tallyBar, totalOf } from "../receipt_detail.js";
import { oneLine } from "../safe_text.js";
import { screenHead } from "../screen_head.js";
import { virtualList } from "../virtual_list.js";

const LIVE_WAIT_MS = 300;

/** @type {import("../screens.js").Show} */
export async function show(host, { session, signal }) {
  const path = pathOf("sessions", session, "receipts");
  /** @type {KeysetList<Api.SummaryAccount>} */
  let receipts = new KeysetList(path, {}, signal);
  let chosen = "";
  const list = virtualList({ label: "Summaries", rowHeight: rowPixels(4), row: drawRow, onRange: (_, last) => fetchMore(last) });
  const card = h("div", { class: "card flush" }, h("div", { class: "list-top" }, partsLegend(OUTCOMES)), list.element);
  const pair = masterDetail(card, emptyBox("Choose a summary", "What it retained, what only its handle leads to, and what changed."), "The chosen receipt");
  fill(host, screenHead("receipts"), pair.element);

  /** @param {Api.SummaryAccount} account */
  const keyOf = (account) => `${account.of} ${account.turn}`;

  /** @param {number} index */
  function drawRow(index) {
    const account = receipts.items[index];
    if (!account) return h("div", { class: "list-head" }, "…");
    const total = totalOf(account.receipt);
    const changed = account.receipt?.changed?.length ?? 0;
    return h("div", {}, h("button", { class: "item effort-item", type: "button", "aria-current": keyOf(account) === chosen ? "true" : null, click: () => choose(account, true) },
      h("span", { class: "clip" },
        h("span", { class: "row apart nowrap" }, h("span", { class: "clip" }, oneLine(account.of, 80)), h("span", { class: "small muted number" },
          changed > 0 && h("span", { class: "tag bad" }, `${count(changed)} changed`), ` ${count(total.retained)} of ${count(total.found)}`)),
        h("span", { class: "lane-gap" }, tallyBar(total)))));
  }

  /** @param {number} last */
  async function fetchMore(last) {
    if (last < receipts.items.length - 20 || receipts.isWhole || receipts.fetching !== null) return;
    await receipts.reach(receipts.items.length + 1);
    if (!signal.aborted) list.setCount(receipts.items.length);
  }

  /** @param {Api.SummaryAccount} account @param {boolean} asked */
  function choose(account, asked) {
    chosen = keyOf(account);
    const { title, content } = receiptDetail(session, account, signal);
    pair.show(title, content, asked);
    list.refresh();
  }

  async function load() {
    const fresh = /** @type {KeysetList<Api.SummaryAccount>} */ (new KeysetList(path, {}, signal));
    await fresh.reach(Math.max(1, receipts.items.length));
    receipts = fresh;
    const [first] = receipts.items;
    if (!first) {
      fill(host, screenHead("receipts"), emptyBox("No summary yet", "Neap writes a summary when an effort concludes, or when a log outgrows its share of the context. Each gets a receipt."));
      return;
    }
    if (!pair.element.isConnected) fill(host, screenHead("receipts"), pair.element);
    list.setCount(receipts.items.length);
    if (chosen === "") choose(first, false);
  }

  const reload = gather(load, LIVE_WAIT_MS, signal);
  onLive(({ kind, data }) => {
    if ((kind === "rewrite" || kind === "effort") && data.session === session) reload();
  }, signal);
  await load();
}
