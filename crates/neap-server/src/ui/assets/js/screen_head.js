// A screen's name, one sentence about it, and its actions.

import { h } from "./dom.js";
import { screenOf } from "./screens.js";

/**
 * @param {string} id of the screen
 * @param {...import("./dom.js").Child} actions
 */
export function screenHead(id, ...actions) {
  const screen = screenOf(id);
  return h("div", { class: "screen-head" }, h("div", { class: "grows" }, h("h1", {}, screen?.name), h("p", {}, screen?.about)), actions);
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

/**
 * A table that scrolls by itself where it is too wide.
 * @param {string} label
 * @param {...import("./dom.js").Child} content
 */
export function tableHolder(label, ...content) {
  return h("div", { class: "table-holder", role: "region", "aria-label": label, tabindex: 0 }, content);
}
