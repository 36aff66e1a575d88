// An effort: its summary, its log, and what can be done with it.

import { ApiError, change, pathOf } from "./api.js";
import { fill, h } from "./dom.js";
import { count, counted, time } from "./format.js";
import { KeysetList } from "./keyset.js";
import { notify } from "./notice.js";
import { placeHash } from "./router.js";
import { fetchOriginalText } from "./prompt_source.js";
import { oneLine, visible } from "./safe_text.js";
import { longText } from "./text_block.js";

const LOG_STEP = 10;
const SHORT_CHARS = 1_500;

/** @type {Record<string, { action: string, name: string, about: string }[]>} */
const ACTIONS = {
  active: [{ action: "conclude", name: "Conclude", about: "a summary takes the place of its log" }],
  open: [{ action: "switch", name: "Make active", about: "new messages go to it" }, { action: "conclude", name: "Conclude", about: "a summary takes the place of its log" }],
  expanded: [{ action: "collapse", name: "Collapse", about: "back to its summary" }, { action: "reopen", name: "Reopen", about: "work on it goes on" }],
  shown: [{ action: "expand", name: "Expand", about: "its whole log comes back into the context" }, { action: "reopen", name: "Reopen", about: "work on it goes on" }],
  evicted: [{ action: "expand", name: "Expand", about: "its whole log comes back into the context" }, { action: "reopen", name: "Reopen", about: "work on it goes on" }],
};

/**
 * @param {string} session
 * @param {Api.Effort} effort
 * @param {AbortSignal} signal
 * @param {() => Promise<void>} onChanged
 */
export function effortDetail(session, effort, signal, onChanged) {
  const log = h("div", { class: "log" });
  const more = h("button", { class: "button", type: "button", click: showMore }, "Older exchanges");
  /** @type {KeysetList<Api.Exchange>} */
  const list = new KeysetList(pathOf("sessions", session, "efforts", effort.id, "log"), { limit: LOG_STEP }, signal);
  let shown = 0;

  async function showMore() {
    more.disabled = true;
    try {
      await list.reach(shown + LOG_STEP);
      log.append(...list.items.slice(shown).map(exchange));
      shown = list.items.length;
      more.hidden = list.isWhole;
    } catch (error) {
      if (!signal.aborted) notify(error instanceof ApiError ? error.message : String(error), "bad");
    }
    more.disabled = false;
  }

  /** @param {Api.Exchange} each */
  function exchange(each) {
    return h("div", { class: "exchange" },
      h("p", { class: "small muted row apart" }, h("a", { href: placeHash("timeline", session, { turn: each.turn }) }, `Turn ${each.turn}`), time(each.at)),
      each.messages.map((message, index) => h("div", { class: `message message-${message.role}` },
        h("span", { class: "small muted" }, oneLine(message.name ?? message.role, 40)),
        message.content.length > SHORT_CHARS ? longMessage(each, message, index) : h("p", { class: "said" }, visible(message.content)),
        (message.tool_calls ?? []).map((call) => h("pre", { class: "text" }, oneLine(`${call.name}(${call.arguments})`, 400))))));
  }

  /** The answer may have only its beginning. @param {Api.Exchange} each @param {Api.Message} message @param {number} index */
  function longMessage(each, message, index) {
    const cut = each.clipped?.find(({ at }) => at === `/messages/${index}/content`);
    const chars = cut?.chars ?? Array.from(message.content).length;
    return longText(message.content, chars, `Message of turn ${each.turn}`, (offset) => fetchOriginalText(session, `t${each.turn}.${index}`, offset, signal));
  }

  /** @param {string} action @param {HTMLButtonElement} button */
  async function act(action, button) {
    button.disabled = true;
    try {
      /** @type {Api.ToolReply} */
      const reply = await change("POST", pathOf("sessions", session, "efforts", effort.id, action));
      notify(reply.banner ?? reply.text);
      await onChanged();
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "bad");
      button.disabled = false;
    }
  }

  const buttons = (ACTIONS[effort.place] ?? []).map(({ action, name, about }) =>
    h("button", { class: "button", type: "button", title: about, click: (/** @type {Event} */ event) => act(action, /** @type {HTMLButtonElement} */ (event.currentTarget)) }, name));
  const content = [
    h("div", { class: "row" }, placeTag(effort.place), h("span", { class: "muted small" },
      `${counted(effort.exchanges, "exchange")}, ${count(effort.raw_tokens)} tokens${effort.summary_tokens === null ? "" : `, ${count(effort.summary_tokens)} as a summary`}`)),
    h("div", { class: "row" }, buttons),
    effort.summary !== null && h("div", {}, h("h3", {}, "Summary"), h("p", { class: "said" }, visible(effort.summary))),
    h("h3", {}, "Log, newest first"),
    log,
    more,
  ];
  fill(log);
  showMore();
  return { title: oneLine(effort.name, 120), content };
}

/** @param {string} place */
export function placeTag(place) {
  const kind = place === "active" || place === "open" ? "accent" : place === "expanded" ? "good" : place === "evicted" ? "" : "warn";
  const name = place === "shown" ? "summary" : place;
  return h("span", { class: `tag ${kind}` }, name);
}
