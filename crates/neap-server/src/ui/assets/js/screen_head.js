// A screen's name, one sentence about it, and its actions.

import { h } from "./dom.js";

/**
 * @param {string} title
 * @param {string} about
 * @param {...import("./dom.js").Child} actions
 */
export function screenHead(title, about, ...actions) {
  return h("div", { class: "screen-head" }, h("div", { class: "grows" }, h("h1", {}, title), h("p", {}, about)), actions);
}

/**
 * A figure with its name.
 * @param {string} name
 * @param {string} value
 * @param {string} [note]
 * @param {boolean} [leads]
 */
export function figure(name, value, note, leads = false) {
  return h("div", { class: leads ? "figure lead" : "figure" }, h("dt", {}, name), h("dd", {}, value, note ? h("small", {}, ` ${note}`) : null));
}
