// The screen Context: what one prompt consists of, block by block.

import { ApiError } from "../api.js";
import { contextBar } from "../context_bar.js";
import { fill, h } from "../dom.js";
import { emptyBox, failureBox } from "../empty.js";
import { count } from "../format.js";
import { setScreenShortcuts } from "../keys.js";
import { gather, onLive } from "../live.js";
import { contextFigures, leftOut } from "../context_parts.js";
import { blockDetail, blockList } from "../block_list.js";
import { masterDetail } from "../master_detail.js";
import { composition, fetchPrompt, fetchTurn, scaledBlocks } from "../prompt_source.js";
import { replaceQuery } from "../router.js";
import { screenHead } from "../screen_head.js";

const LIVE_WAIT_MS = 120;

/** @type {import("../screens.js").Show} */
export async function show(host, { session, query, signal }) {
  /** The turn that is shown; null follows the newest. @type {number | null} */
  let pinned = Number(query.get("turn")) || null;
  let shown = 0;
  let newest = 0;

  const figures = h("div", { class: "figures-holder" });
  const bar = contextBar((layer) => list.showLayer(layer));
  const list = blockList((block, asked) => pick(block, asked));
  const missing = h("div");
  const pair = masterDetail(list.element, emptyBox("Choose a block", "Its words, its tokens and the reason for it appear here."), "The chosen block");
  const place = h("span", { class: "turn-place" });
  const follow = button("Live", () => go(null));
  const back = button("‹", () => go(shown - 1), "The turn before");
  const on = button("›", () => go(shown + 1 >= newest ? null : shown + 1), "The turn after");
  const parts = [h("div", { class: "card stack" }, figures, bar.element), pair.element, missing];
  const body = h("div", { class: "stack loose" }, parts);

  fill(host,
    screenHead("context",
      h("div", { class: "row" }, back, place, on, follow)),
    body);

  /** @param {string} label @param {() => void} act @param {string} [name] */
  function button(label, act, name) {
    return h("button", { class: "button", type: "button", "aria-label": name, title: name, click: act }, label);
  }

  /** @param {Api.Block} block @param {boolean} asked */
  function pick(block, asked) {
    bar.pick(block.block);
    const { title, content } = blockDetail(session, shown, block);
    pair.show(title, content, asked);
  }

  /** @param {number | null} turn */
  function go(turn) {
    if (turn !== null && turn < 1) return;
    pinned = turn;
    replaceQuery({ turn });
    load();
  }

  async function load() {
    try {
      const [prompt, turn] = await Promise.all([
        fetchPrompt(session, pinned ?? "latest", signal),
        fetchTurn(session, pinned ?? "latest", signal),
      ]);
      draw(prompt, turn);
    } catch (error) {
      if (signal.aborted) return;
      const isEmpty = shown === 0 && pinned === null && error instanceof ApiError && error.code === "no_turn";
      fill(body, isEmpty ? emptyBox("No turn yet", "The prompt of this session's first turn will be here.") : failureBox(error, () => go(pinned)));
    }
  }

  /** @param {Api.Prompt} prompt @param {Api.Turn} turn */
  function draw(prompt, turn) {
    if (!pair.element.isConnected) fill(body, parts);
    shown = prompt.turn;
    newest = Math.max(newest, shown);
    place.textContent = `Turn ${count(shown)}`;
    follow.setAttribute("aria-pressed", String(pinned === null));
    back.disabled = shown <= 1;
    on.disabled = pinned === null;
    const { layers, used, whole, cached, account } = composition(prompt, turn.ledger);
    fill(figures, contextFigures(prompt, turn, { used, cached, account }));
    bar.update({
      budget: whole, used, cached, layers, blocks: scaledBlocks(prompt, layers), epoch: turn.ledger?.epoch_since ?? null,
      rest: account ? "left out by Neap" : "free",
    });
    list.update(prompt.blocks);
    fill(missing, leftOut(session, turn));
  }

  setScreenShortcuts([
    { keys: "[", does: "the turn before", act: () => go(shown - 1) },
    { keys: "]", does: "the turn after", act: () => pinned !== null && go(shown + 1 >= newest ? null : shown + 1) },
    { keys: "l", does: "follow the newest turn", act: () => go(null) },
  ]);
  const reload = gather(async () => {
    if (pinned === null) await load();
  }, LIVE_WAIT_MS, signal);
  onLive(({ kind, data }) => {
    if ((kind === "turn" || kind === "rewrite" || kind === "effort") && data.session === session) reload();
  }, signal);
  await load();
}
