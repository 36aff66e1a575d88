// What a screen shows while it has nothing to show.

import { ApiError } from "./api.js";
import { h } from "./dom.js";
import { oneLine } from "./safe_text.js";

/**
 * @param {string} title
 * @param {string} text what will be here, and how it gets here
 * @param {string[]} [commands] what to type
 */
export function emptyBox(title, text, commands = []) {
  return h("div", { class: "card empty" }, h("h2", {}, title), h("p", {}, text), commands.map((line) => h("pre", {}, line)));
}

/** For screens of a session while there is none. */
export function noSessionBox() {
  return emptyBox("No session yet", "Neap records a session as soon as an agent speaks through it. Start one of these, and this page fills by itself:",
    ["neap run -- claude\nneap serve\nneap chat"]);
}

export function loadingBox() {
  return h("p", { class: "muted loading", role: "status" }, "Loading …");
}

/**
 * @param {unknown} error
 * @param {() => void} [retry]
 */
export function failureBox(error, retry) {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ApiError && error.status === 401) {
    return emptyBox("This browser has no access yet", "Loopback is not trust: the page opens with a one-time link. The link works once, for ten minutes. Get a new one:", ["neap ui"]);
  }
  const hint = error instanceof ApiError ? error.hint : undefined;
  return h("div", { class: "card empty", role: "alert" },
    h("h2", {}, oneLine(message, 400)),
    hint && h("p", {}, oneLine(hint, 400)),
    error instanceof ApiError && error.code === "no_session" && h("a", { class: "button", href: "#/sessions" }, "All sessions"),
    retry && h("button", { class: "button", type: "button", click: retry }, "Try again"));
}
