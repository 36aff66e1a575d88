// A receipt: what a summary kept of its original, kind by kind, with examples.

import { fill, h } from "./dom.js";
import { failureBox, loadingBox } from "./empty.js";
import { count, percent, time, words } from "./format.js";
import { originalView } from "./original_view.js";
import { partsBar, partsLegend } from "./parts_bar.js";
import { placeHash } from "./router.js";
import { oneLine } from "./safe_text.js";
import { tableHolder } from "./screen_head.js";

/** @typedef {import("./parts_bar.js").Part} Part */

export const OUTCOMES = [
  { name: "retained", kind: "good" },
  { name: "recoverable", kind: "info" },
  { name: "missing", kind: "bad" },
];

/** @param {Api.Receipt | undefined} receipt @returns {Api.Tally} */
export function totalOf(receipt) {
  const sum = { found: 0, retained: 0, recoverable: 0, missing: 0 };
  for (const tally of Object.values(receipt?.kinds ?? {})) {
    sum.found += tally.found;
    sum.retained += tally.retained;
    sum.recoverable += tally.recoverable;
    sum.missing += tally.missing;
  }
  return sum;
}

/** @param {Api.Tally} tally */
export function tallyBar(tally) {
  /** @type {Part[]} */
  const parts = [
    { name: "retained", value: tally.retained, kind: "good" },
    { name: "recoverable", value: tally.recoverable, kind: "info" },
    { name: "missing", value: tally.missing, kind: "bad" },
  ];
  return partsBar(parts, tally.found);
}

/**
 * @param {string} session
 * @param {Api.SummaryAccount} account
 * @param {AbortSignal} signal
 */
export function receiptDetail(session, account, signal) {
  const { receipt } = account;
  const original = h("div");
  const total = totalOf(receipt);

  /** @param {string} value */
  async function showOriginal(value) {
    if (!receipt?.handle) return;
    fill(original, loadingBox());
    try {
      const view = await originalView(session, receipt.handle, value, signal);
      fill(original, h("h3", {}, value === "" ? "The original words" : `“${oneLine(value, 80)}” in the original words`), view);
      original.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (!signal.aborted) fill(original, failureBox(error));
    }
  }

  /** @param {string} name @param {string} about @param {{ kind: string, text: string, value: string }[]} examples */
  const group = (name, about, examples) => examples.length === 0 ? null : h("div", { class: "stack-tight" },
    h("h3", {}, name), h("p", { class: "small muted" }, about),
    h("ul", { class: "examples" }, examples.map((example) => h("li", {},
      h("span", { class: "tag" }, words(example.kind)), " ",
      receipt?.handle ? h("button", { class: "link-like", type: "button", click: () => showOriginal(example.value) }, oneLine(example.text, 160)) : oneLine(example.text, 160)))));
  const probes = (/** @type {Api.Probe[] | undefined} */ list) => (list ?? []).map(({ kind, value }) => ({ kind, text: value, value }));
  const moves = (/** @type {Api.ValueChange[] | undefined} */ list) => (list ?? []).map(({ kind, from, to }) =>
    ({ kind, text: from === "" ? `${to}: never said` : `${from} became ${to}`, value: from === "" ? to : from }));

  const rows = Object.entries(receipt?.kinds ?? {}).map(([kind, tally]) => h("tr", {},
    h("td", {}, words(kind)), h("td", { class: "bar-cell" }, tallyBar(tally)), h("td", { class: "number" }, `${count(tally.retained)} of ${count(tally.found)}`)));
  const content = [
    h("p", { class: "row small" },
      h("span", { class: "tag" }, words(account.kind)),
      h("a", { href: placeHash("timeline", session, { turn: account.turn }) }, `turn ${account.turn}`),
      h("span", { class: "muted" }, time(account.at))),
    h("p", {}, `${count(account.source_tokens)} tokens became ${count(account.summary_tokens)}: ${percent(account.summary_tokens, account.source_tokens)}. `,
      receipt ? `Of ${count(total.found)} values, ${count(total.retained)} are in the summary.` : "It has no receipt: an earlier version made it."),
    rows.length > 0 && tableHolder("Values by kind", h("table", { class: "plain-table" },
      h("thead", {}, h("tr", {}, h("th", {}, "Kind"), h("th", {}, h("span", { class: "visually-hidden" }, "Share")), h("th", { class: "number" }, "Retained"))), h("tbody", {}, rows))),
    partsLegend(OUTCOMES),
    group("Changed", "The summary says something else than the original.", moves(receipt?.changed)),
    group("Missing", "Neither in the summary nor behind a handle.", probes(receipt?.missing)),
    group("Recoverable", "Not in the summary; the handle leads to them.", probes(receipt?.recoverable)),
    group("Repaired", "The model had changed them; Neap put the original back.", moves(receipt?.repaired)),
    receipt?.handle && h("div", { class: "row" }, h("button", { class: "button", type: "button", click: () => showOriginal("") }, "Original words"), h("span", { class: "small muted" }, oneLine(receipt.handle, 100))),
    original,
  ];
  return { title: `Receipt of ${oneLine(account.of, 100)}`, content };
}
