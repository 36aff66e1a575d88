// The original words behind a handle, with the places where a value is said.

import { get, pathOf } from "./api.js";
import { h } from "./dom.js";
import { count } from "./format.js";
import { visible } from "./safe_text.js";

const STEP_CHARS = 20_000;
const MARKS_MAX = 200;

/**
 * @param {string} session
 * @param {string} handle
 * @param {string} value marked where it occurs; may be empty
 * @param {AbortSignal} signal
 */
export async function originalView(session, handle, value, signal) {
  const path = pathOf("sessions", session, "originals", handle);
  const pre = h("pre", { class: "text" });
  const more = h("button", { class: "button plain small", type: "button", click: load }, "");
  const box = h("div", { class: "text-box", tabindex: 0, role: "region", "aria-label": `The original words of ${handle}` }, pre);
  /** @type {number | null} */
  let next = 0;

  async function load() {
    more.disabled = true;
    /** @type {Api.Original} */
    const part = await get(path, { offset: next, limit: STEP_CHARS }, signal);
    pre.append(...marked(visible(part.text), visible(value)));
    next = part.next;
    more.hidden = next === null;
    more.textContent = `Show more: ${count(part.chars - (next ?? part.chars))} of ${count(part.chars)} characters left`;
    more.disabled = false;
  }

  await load();
  queueMicrotask(() => pre.querySelector("mark")?.scrollIntoView({ block: "nearest" }));
  return h("div", { class: "stack-tight" }, box, h("div", {}, more));
}

/**
 * The text, with each place of the value in a mark.
 * @param {string} text
 * @param {string} value
 * @returns {(Text | HTMLElement)[]}
 */
export function marked(text, value) {
  const parts = [];
  const needle = value.trim().toLowerCase();
  // Lower case may change a text's length; then nothing is marked.
  const haystack = needle === "" ? "" : text.toLowerCase();
  let from = 0;
  if (haystack.length === text.length) {
    for (let at = haystack.indexOf(needle); at >= 0 && parts.length < MARKS_MAX; at = haystack.indexOf(needle, from)) {
      parts.push(document.createTextNode(text.slice(from, at)), h("mark", {}, text.slice(at, at + needle.length)));
      from = at + needle.length;
    }
  }
  parts.push(document.createTextNode(text.slice(from)));
  return parts;
}
