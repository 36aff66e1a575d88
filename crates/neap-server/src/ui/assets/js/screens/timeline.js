// The screen Timeline: every prompt of a session, and how it became the next one.

import { get, pathOf } from "../api.js";
import { fetchChanges, fetchOverview } from "../changes_source.js";
import { laneOf } from "../changes.js";
import { diffView, promptView } from "../diff_view.js";
import { fill, h } from "../dom.js";
import { emptyBox, failureBox, loadingBox } from "../empty.js";
import { brief, count } from "../format.js";
import { setScreenShortcuts } from "../keys.js";
import { LANES_LEFT, lanes } from "../lanes.js";
import { gather, onFirstTurn, onLive } from "../live.js";
import { plot } from "../plot.js";
import { fetchTurn } from "../prompt_source.js";
import { replaceQuery } from "../router.js";
import { screenHead } from "../screen_head.js";
import { promptTokens, turnList } from "../turn_list.js";
import { turnView } from "../turn_view.js";

/** Lanes show this many turns; a longer session shows those around the chosen one. */
const LANE_TURNS = 400;
const LIVE_WAIT_MS = 150;
const TURN_WAIT_MS = 60;

/** @type {import("../screens.js").Show} */
export async function show(host, { session, query, signal }) {
  let turns = await countTurns();
  if (turns === 0) {
    fill(host, screenHead("timeline"), emptyBox("No turn yet", "Each turn of this session will be a point on this line."));
    onFirstTurn(session, () => show(host, { session, query, signal }), signal);
    return;
  }
  let chosen = Math.min(turns, Number(query.get("turn")) || turns);
  let against = Number(query.get("with")) || 0;
  let view = query.get("view") === "prompt" ? "prompt" : "diff";
  let range = { from: 0, to: 0 };
  /** @type {Api.Change[]} */
  let changes = [];
  let drawing = new AbortController();

  const overview = plot({ label: "Tokens of each prompt against the budget", height: 170, format: brief, left: LANES_LEFT, onPick: (turn) => choose(turn) });
  const lane = lanes((turn) => choose(turn));
  const list = turnList(session, signal, (turn) => choose(turn));
  const slider = h("input", { type: "range", class: "slider", min: 1, step: 1, "aria-label": "Turn", input: () => choose(Number(slider.value)) });
  const number = h("input", { type: "number", class: "number-field", min: 1, "aria-label": "Turn number", change: () => choose(Number(number.value)) });
  const total = h("span", { class: "muted" });
  const left = h("section", { class: "card detail", "aria-label": "The turn" });
  const right = h("div");
  const other = h("input", { type: "number", class: "number-field", min: 1, "aria-label": "Compare with turn", change: () => compare(Number(other.value)) });
  const diffButton = h("button", { class: "button", type: "button", click: () => look("diff") }, "Difference");
  const promptButton = h("button", { class: "button", type: "button", click: () => look("prompt") }, "As it was sent");
  const step = (/** @type {string} */ label, /** @type {string} */ name, /** @type {() => void} */ act) =>
    h("button", { class: "button", type: "button", "aria-label": name, title: name, click: act }, label);

  fill(host,
    screenHead("timeline",
      h("div", { class: "row" }, step("‹", "The turn before", () => choose(chosen - 1)), h("label", { class: "row" }, "Turn", number), total, step("›", "The turn after", () => choose(chosen + 1)))),
    h("div", { class: "card stack" }, overview.element, slider, lane.element),
    h("div", { class: "columns" },
      h("div", { class: "stack loose" }, h("div", { class: "card flush" }, list.element), left),
      h("section", { class: "card detail", "aria-label": "The prompt" },
        h("div", { class: "row apart" }, h("div", { class: "row" }, diffButton, promptButton), h("label", { class: "row small" }, "against turn", other)),
        right)));

  async function countTurns() {
    /** @type {Api.Session} */
    const found = await get(pathOf("sessions", session), {}, signal);
    return found.turns;
  }

  /** @param {number} turn */
  function choose(turn) {
    if (!(turn >= 1 && turn <= turns) || turn === chosen) return;
    chosen = turn;
    against = 0;
    replaceQuery({ turn, with: null });
    drawTurn();
  }

  /** @param {number} turn */
  function compare(turn) {
    if (!(turn >= 1 && turn <= turns)) return;
    against = turn;
    replaceQuery({ with: turn });
    look("diff");
  }

  /** @param {string} next */
  function look(next) {
    view = next;
    replaceQuery({ view: next === "diff" ? null : next });
    drawTurn();
  }

  /** Shows the place at once and the turn when it is there; a slider that moves asks only where it rests. */
  function drawTurn() {
    slider.max = String(turns);
    slider.value = String(chosen);
    number.max = String(turns);
    number.value = String(chosen);
    const base = against || Math.max(1, chosen - 1);
    other.value = String(base);
    total.textContent = `of ${count(turns)}`;
    diffButton.setAttribute("aria-pressed", String(view === "diff"));
    promptButton.setAttribute("aria-pressed", String(view === "prompt"));
    overview.choose(chosen);
    list.update(turns, chosen);
    lane.update({ chosen });
    drawing.abort();
    drawing = new AbortController();
    const stops = AbortSignal.any([signal, drawing.signal]);
    setTimeout(async () => {
      if (stops.aborted) return;
      try {
        const waits = setTimeout(() => !stops.aborted && fill(right, loadingBox()), 200);
        const [turn, prompt] = await Promise.all([
          fetchTurn(session, chosen, stops),
          view === "prompt" ? promptView(session, chosen, stops) : diffView(session, chosen, base, stops),
          drawLanes(stops),
        ]);
        clearTimeout(waits);
        if (stops.aborted) return;
        fill(left, h("h2", {}, `Turn ${turn.turn}`), ...turnView(session, turn));
        fill(right, prompt);
      } catch (error) {
        if (!stops.aborted) fill(right, failureBox(error, drawTurn));
      }
    }, TURN_WAIT_MS);
  }

  /** @param {AbortSignal} stops */
  async function drawLanes(stops) {
    const half = LANE_TURNS / 2;
    const from = turns <= LANE_TURNS ? 1 : Math.max(1, Math.min(turns - LANE_TURNS, Math.floor((chosen - half) / 100) * 100) + 1);
    const to = Math.min(turns, from + LANE_TURNS - 1);
    if (from === range.from && to === range.to) return;
    changes = await fetchChanges(session, from, to, stops);
    range = { from, to };
    lane.update({ from, to, chosen, changes });
  }

  async function drawOverview() {
    const rows = await fetchOverview(session, turns, signal);
    const budget = Math.max(0, ...rows.map((row) => row.budget ?? 0));
    overview.update({
      x: rows.map((row) => row.turn), chosen,
      series: seriesOf(rows),
      marks: turns <= LANE_TURNS ? rows.filter((row) => row.rewritten !== null).map((row) => row.turn) : [],
      ...(budget > 0 ? { limit: budget } : {}),
    });
  }

  /** To the next turn in which something entered, left or was rewritten. @param {1 | -1} direction */
  function jump(direction) {
    const places = [...new Set(changes.filter((change) => laneOf(change.kind)).map((change) => change.turn ?? 0))].sort((a, b) => (a - b) * direction);
    const next = places.find((turn) => (turn - chosen) * direction > 0);
    if (next !== undefined) choose(next);
  }

  setScreenShortcuts([
    { keys: "[", does: "the turn before", act: () => choose(chosen - 1) },
    { keys: "]", does: "the turn after", act: () => choose(chosen + 1) },
    { keys: "p", does: "the change before", act: () => jump(-1) },
    { keys: "n", does: "the next change", act: () => jump(1) },
  ]);
  const reload = gather(async () => {
    const atEnd = chosen === turns;
    turns = await countTurns();
    if (atEnd) chosen = turns;
    range = { from: 0, to: 0 };
    await drawOverview();
    drawTurn();
  }, LIVE_WAIT_MS, signal);
  onLive(({ kind, data }) => {
    if (kind === "turn" && data.session === session && data.turn > turns) reload();
  }, signal);
  drawTurn();
  await drawOverview();
}

/**
 * Of proxied turns, what was forwarded and what the client had sent.
 * @param {Api.SeriesRow[]} rows
 * @returns {import("../plot.js").Series[]}
 */
function seriesOf(rows) {
  /** @type {import("../plot.js").Series[]} */
  const series = [{ name: "in the context", kind: "area", values: rows.map(promptTokens) }];
  const received = rows.map((row) => (row.requests.length > 0 ? Math.max(...row.requests.map((account) => account.tokens_in)) : null));
  if (received.some((tokens) => tokens !== null)) series.push({ name: "received from the client", kind: "quiet", values: received });
  return series;
}
