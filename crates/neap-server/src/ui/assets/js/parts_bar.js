// A small bar of parts, and its legend.

import { h } from "./dom.js";

/** @typedef {{ name: string, value: number, kind: string, note?: string }} Part `kind` ends a class name: `part-KIND` */

/**
 * @param {Part[]} parts those that are not above 0 are not drawn
 * @param {number} whole what the full width stands for
 */
export function partsBar(parts, whole) {
  const shown = parts.filter((part) => part.value > 0);
  const label = parts.filter((part) => part.value !== 0).map((part) => `${part.name} ${part.note ?? part.value}`).join(", ");
  const bar = h("div", { class: "parts-bar", role: "img", "aria-label": label, title: label });
  for (const part of shown) {
    const piece = h("i", { class: `part-${part.kind}` });
    piece.style.width = `${whole > 0 ? (part.value / whole) * 100 : 0}%`;
    bar.append(piece);
  }
  return bar;
}

/** @param {{ name: string, kind: string }[]} parts */
export function partsLegend(parts) {
  return h("ul", { class: "legend small muted" }, parts.map((part) => h("li", {}, h("span", { class: `swatch part-${part.kind}` }), part.name)));
}
