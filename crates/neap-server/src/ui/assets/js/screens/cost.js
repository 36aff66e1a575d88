// The screen Cost: money and the cached share over turns, against clients without Neap.

import { get, pathOf } from "../api.js";
import { fetchSeries } from "../changes_source.js";
import { costPoints, pricesOf } from "../cost_model.js";
import { fill, h } from "../dom.js";
import { emptyBox } from "../empty.js";
import { brief, count, dollars, dollarTick, percent } from "../format.js";
import { gather, onLive } from "../live.js";
import { plot } from "../plot.js";
import { placeHash } from "../router.js";
import { oneLine } from "../safe_text.js";
import { figure, screenHead, tableHolder } from "../screen_head.js";
import { modelTable, projectTable } from "../totals_table.js";

const LIVE_WAIT_MS = 500;
const TURNS_MAX = 1_000;
const SESSIONS_MAX = 50;

/** @type {import("../screens.js").Show} */
export async function show(host, { session, signal }) {
  const figures = h("dl", { class: "figures" });
  const note = h("p", { class: "small muted" });
  const to = (/** @type {number} */ turn) => (location.hash = placeHash("context", session, { turn }));
  const money = plot({ label: "Dollars spent so far, against clients without Neap", height: 240, format: dollars, tick: dollarTick, onPick: to });
  const share = plot({ label: "Share of sent tokens read from the provider's cache", height: 160, format: (value) => `${brief(value)} %`, onPick: to });
  const table = tableHolder("Cost of all sessions");
  const models = h("section", { class: "card stack", "aria-label": "All sessions, by model", hidden: true });
  const projects = h("section", { class: "card stack", "aria-label": "All sessions, by project", hidden: true });
  const body = h("div", { class: "stack loose" },
    h("div", { class: "card stack" }, figures, money.element, note),
    h("section", { class: "card stack", "aria-label": "Cached share" }, h("h2", {}, "Read from the cache"), share.element),
    models, projects,
    h("section", { class: "card stack", "aria-label": "All sessions" }, h("h2", {}, "All sessions"), table));
  fill(host, screenHead("cost"), body);

  async function load() {
    /** @type {[Api.Session, Api.Page<Api.SessionRow>, Api.StoreReport]} */
    const [found, sessions, all] = await Promise.all([
      get(pathOf("sessions", session), {}, signal), get("/sessions", { limit: SESSIONS_MAX }, signal), get("/report", {}, signal),
    ]);
    const from = Math.max(1, found.turns - TURNS_MAX + 1);
    const rows = found.turns === 0 ? [] : await fetchSeries(session, Math.max(1, from - 1), found.turns, signal);
    const before = from > 1 ? rows.shift()?.naive_tokens : 0;
    const points = costPoints(rows, pricesOf(found.policy), before ?? 0);
    const last = points.at(-1);
    const hasCost = last !== undefined && (last.spent > 0 || points.some((point) => point.cachedShare !== null));
    if (!hasCost) {
      fill(host, screenHead("cost"), emptyBox("Nothing to pay for yet", "Once a model has answered in this session, its price and the share that the provider's cache served appear here."));
      return;
    }
    if (!body.isConnected) fill(host, screenHead("cost"), body);
    const row = sessions.items.find((each) => each.session === session);
    drawFigures(last, row, from > 1 ? `last ${count(rows.length)} turns` : undefined);
    note.textContent = describe(from, rows, last);
    const x = points.map((point) => point.turn);
    money.update({ x, series: [
      { name: "this session", kind: "accent", values: points.map((point) => point.spent) },
      { name: "sending everything", kind: "quiet", values: points.map((point) => point.untouched) },
      { name: "rewriting each prompt", kind: "warm", values: points.map((point) => point.rewriting) },
    ].filter((each) => each.values.some((value) => value !== null)).map((each) => ({ ...each, kind: /** @type {"accent"} */ (each.kind) })) });
    share.update({ x, top: 100, series: [{ name: "cached share", kind: "area", values: points.map((point) => point.cachedShare) }] });
    fill(table, sessionTable(sessions.items, session));
    drawTotals(models, "by model", modelTable(all.models));
    drawTotals(projects, "by project", projectTable(all.projects));
  }

  /** @param {import("../cost_model.js").CostPoint} last @param {Api.SessionRow | undefined} row @param {string} [range] */
  function drawFigures(last, row, range) {
    const sent = (row?.cost?.sent ?? 0) + (row?.passed?.used.input ?? 0);
    const cached = (row?.cost?.cached ?? 0) + (row?.passed?.used.cached ?? 0);
    fill(figures,
      figure("Spent", dollars(last.spent), range, true),
      last.untouched !== null && figure("Sending everything", dollars(last.untouched)),
      last.untouched !== null && (last.untouched > last.spent ? figure("Saved", percent(last.untouched - last.spent, last.untouched), dollars(last.untouched - last.spent)) : figure("Saved", "none yet")),
      last.rewriting !== null && figure("Rewriting each prompt", dollars(last.rewriting)),
      figure("From the cache", percent(cached, sent)),
      figure("Tokens sent", count(sent)));
  }

  const reload = gather(load, LIVE_WAIT_MS, signal);
  onLive(({ kind, data }) => {
    if (kind === "turn" && data.session === session) reload();
  }, signal);
  await load();
}

/** @param {HTMLElement} section @param {string} grouping @param {HTMLElement | null} table */
function drawTotals(section, grouping, table) {
  section.hidden = table === null;
  if (table !== null) {
    const holder = tableHolder(`Cost ${grouping}`);
    fill(holder, table);
    fill(section, h("h2", {}, `All sessions, ${grouping}`), holder);
  }
}

/** @param {number} from @param {Api.SeriesRow[]} rows @param {import("../cost_model.js").CostPoint} last */
function describe(from, rows, last) {
  const range = from > 1 ? `The last ${count(rows.length)} turns, from turn ${count(from)}. ` : "";
  const how = last.rewriting === null
    ? "What the untouched requests would have cost is computed for each request from the provider's count and prices."
    : "The two other clients are computed at this session's prices: one sends the whole history and reads what it sent before from the cache, one writes each prompt anew.";
  return range + how;
}

/** @param {Api.SessionRow[]} rows @param {string} current */
function sessionTable(rows, current) {
  const money = (/** @type {Api.SessionRow} */ row) => (row.cost?.nanodollars ?? 0) / 1e9 + (row.passed?.cost?.sent_nanodollars ?? 0) / 1e9;
  const cells = (/** @type {Api.SessionRow} */ row) => {
    const sent = (row.cost?.sent ?? 0) + (row.passed?.used.input ?? 0);
    const cached = (row.cost?.cached ?? 0) + (row.passed?.used.cached ?? 0);
    const saved = row.passed?.cost ? row.passed.cost.untouched_nanodollars / 1e9 - row.passed.cost.sent_nanodollars / 1e9 : null;
    return [count(row.turns), count(sent), percent(cached, sent), dollars(money(row)), dollars(saved)];
  };
  return h("table", { class: "plain-table" },
    h("thead", {}, h("tr", {}, h("th", {}, "Session"), ["Turns", "Tokens sent", "Cached", "Spent", "Saved by the proxy"].map((name) => h("th", { class: "number" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {},
      h("td", {}, row.session === current ? h("strong", {}, oneLine(row.session, 60)) : h("a", { href: placeHash("cost", row.session) }, oneLine(row.session, 60))),
      cells(row).map((cell) => h("td", { class: "number" }, cell))))));
}
