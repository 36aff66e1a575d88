// Short messages in the corner, read aloud by screen readers.

import { h } from "./dom.js";
import { visible } from "./safe_text.js";

const SHOWN_MS = 6_000;

/** @type {HTMLElement | null} */
let host = null;

/** @param {HTMLElement} element where messages appear; it is an `aria-live` region */
export function setNoticeHost(element) {
  host = element;
}

/**
 * @param {string} text
 * @param {"" | "bad"} [kind]
 * @param {{ label: string, act: () => void }} [action] a button, such as "Undo"
 */
export function notify(text, kind = "", action) {
  const note = h("div", { class: `notice ${kind}` }, h("span", { class: "grows" }, visible(text)));
  if (action) {
    const act = () => {
      note.remove();
      action.act();
    };
    note.append(h("button", { class: "button small", type: "button", click: act }, action.label));
  }
  host?.append(note);
  setTimeout(() => note.remove(), action ? SHOWN_MS * 2 : SHOWN_MS);
}
