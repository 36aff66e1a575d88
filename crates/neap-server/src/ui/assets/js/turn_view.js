// What was said in a turn, and what happened in it.

import { h } from "./dom.js";
import { changesOfTurn, changeText, laneOf } from "./changes.js";
import { authorName } from "./memory_text.js";
import { oneLine, visible } from "./safe_text.js";
import { placeHash } from "./router.js";

const SAID_CHARS_MAX = 1_200;
const CALLS_MAX = 20;

/**
 * @param {string} session
 * @param {Api.Turn} turn
 */
export function turnView(session, turn) {
  const changes = changesOfTurn(turn);
  const effort = turn.scope !== null && typeof turn.scope === "object" ? turn.scope.effort : null;
  const recorded = recordedMessages(turn);
  const calls = [...turn.rounds.flatMap(({ assistant, results }) => (assistant.tool_calls ?? []).map((call, index) => ({ call, result: results[index] }))), ...callsOf(recorded)];
  return [
    h("p", { class: "row small" },
      turn.author && h("span", { class: "tag" }, `said by ${authorName(turn.author)}`),
      effort ? h("a", { href: placeHash("efforts", session, { effort }) }, oneLine(effort, 60)) : turn.scope === "ambient" && h("span", { class: "tag" }, "ambient chat"),
      turn.abandoned ? h("span", { class: "tag bad" }, "no reply") : null),
    said("Message", turn.message),
    calls.slice(0, CALLS_MAX).map(({ call, result }) => h("details", { class: "call" },
      h("summary", { class: "small" }, h("strong", {}, "Tool "), oneLine(`${call.name}(${call.arguments})`, 160)),
      h("pre", { class: "text text-box" }, clipped(result?.content ?? "")))),
    calls.length > CALLS_MAX && h("p", { class: "muted small" }, `${calls.length - CALLS_MAX} more tool calls`),
    said("Reply", turn.reply ?? replyOf(recorded)),
    h("h3", {}, "What changed in the prompt, and why"),
    changes.length === 0
      ? h("p", { class: "muted" }, "Nothing entered or left but the turn's own words.")
      : h("ul", { class: "reasons" }, changes.map((change) => h("li", {}, h("i", { class: `lane-dot dot-${laneOf(change.kind)}` }), oneLine(changeText(change), 400)))),
  ];
}

/** What another program recorded of a turn whose model it ran. @param {Api.Turn} turn @returns {Api.Message[]} */
function recordedMessages(turn) {
  return turn.happened.filter(({ type }) => type === "message_added").map(({ message }) => message);
}

/** @param {Api.Message[]} messages */
function callsOf(messages) {
  return messages.flatMap((message) => (message.tool_calls ?? []).map((call) => ({ call, result: messages.find(({ tool_call_id: id }) => id === call.id) })));
}

/** @param {Api.Message[]} messages */
function replyOf(messages) {
  const parts = messages.filter(({ role, content }) => role === "assistant" && content !== "").map(({ content }) => content);
  return parts.length === 0 ? null : parts.join("\n\n");
}

/** @param {string} name @param {string | null} text */
function said(name, text) {
  return h("div", {}, h("h3", {}, name), text === null ? h("p", { class: "muted" }, "–") : h("p", { class: "said" }, clipped(text)));
}

/** @param {string} text */
function clipped(text) {
  return text.length > SAID_CHARS_MAX ? `${visible(text.slice(0, SAID_CHARS_MAX))} …` : visible(text);
}
