// The context as one bar against its budget: layers, blocks, the cached part, the mark of the epoch.

import { fill, h } from "./dom.js";
import { brief, count, percent } from "./format.js";
import { GROUP_NAMES, groupTokens, layerInfo, layerRank } from "./layers.js";

const READ_HINT = "Point at a layer to read what it is; click to list its blocks.";
/** A block narrower than this share of the bar gets no line of its own. */
const BLOCK_SHARE_MIN = 0.004;

/** @typedef {{ budget: number, used: number, cached: number, layers: Record<string, number>, blocks: Api.Block[], epoch: number | null, rest: string }} BarData */

/** @param {(layer: string) => void} onLayer called when a layer of the bar is clicked */
export function contextBar(onLayer) {
  const track = h("div", { class: "bar-track" });
  const cached = h("div", { class: "bar-cached eases" });
  const mark = h("div", { class: "bar-mark eases" });
  const lines = h("div", { class: "bar-lines" });
  const picked = h("div", { class: "bar-picked", hidden: true });
  const readout = h("p", { class: "bar-readout muted small" }, READ_HINT);
  const bar = h("div", { class: "bar", role: "img" }, track, lines, cached, picked, mark);
  const scale = h("div", { class: "bar-scale small muted", "aria-hidden": "true" });
  const legend = h("ul", { class: "legend small" });
  /** @type {Map<string, HTMLElement>} */
  const segments = new Map();
  /** @type {BarData | null} */
  let data = null;

  /** @param {number} tokens */
  const share = (tokens) => (data && data.budget > 0 ? tokens / data.budget : 0);

  /** @param {string} layer */
  function segment(layer) {
    const found = segments.get(layer);
    if (found) return found;
    const { group } = layerInfo(layer);
    const made = h("div", {
      class: `bar-layer eases fill-${group}`,
      click: () => onLayer(layer),
      pointerenter: () => read(layer),
      pointerleave: () => (readout.textContent = READ_HINT),
    });
    segments.set(layer, made);
    return made;
  }

  /** @param {string} layer */
  function read(layer) {
    if (!data) return;
    const { name, about } = layerInfo(layer);
    const tokens = data.layers[layer] ?? 0;
    readout.textContent = `${name}: ${count(tokens)} tokens, ${percent(tokens, data.budget)} of the budget. ${about}.`;
  }

  /** @param {BarData} next */
  function update(next) {
    data = next;
    const order = Object.keys(next.layers).sort((a, b) => layerRank(a) - layerRank(b));
    for (const [layer, node] of segments) if (!(layer in next.layers)) node.remove();
    let at = 0;
    let tailAt = null;
    for (const layer of order) {
      const node = segment(layer);
      place(node, at, share(next.layers[layer] ?? 0));
      if (!node.isConnected) track.append(node);
      if (layer === "tail" || (layer === "message" && tailAt === null)) tailAt ??= at;
      at += share(next.layers[layer] ?? 0);
    }
    place(cached, 0, share(next.cached));
    mark.hidden = next.epoch === null || tailAt === null;
    mark.style.left = `${(tailAt ?? 0) * 100}%`;
    mark.dataset.label = next.epoch === null ? "" : `rewritten for turn ${next.epoch}`;
    mark.classList.toggle("to-left", (tailAt ?? 0) > 0.6);
    drawLines(next);
    const steps = [0, 0.25, 0.5, 0.75, 1].map((part) => h("span", {}, brief(next.budget * part)));
    fill(scale, steps);
    bar.setAttribute("aria-label", describe(next));
    fill(legend, groupTokens(next.layers).filter(({ tokens }) => tokens > 0).map(({ group, tokens }) =>
      h("li", {}, h("span", { class: `swatch fill-${group}` }), GROUP_NAMES[group], " ", h("span", { class: "muted" }, count(tokens)))),
      next.cached > 0 && h("li", {}, h("span", { class: "swatch hatched" }), "from the cache ", h("span", { class: "muted" }, count(next.cached))),
      h("li", {}, h("span", { class: "swatch free" }), `${next.rest} `, h("span", { class: "muted" }, count(Math.max(0, next.budget - next.used)))));
  }

  /** @param {BarData} next */
  function drawLines(next) {
    let at = 0;
    const marks = [];
    for (const block of next.blocks) {
      at += share(block.tokens);
      if (share(block.tokens) >= BLOCK_SHARE_MIN) {
        const line = h("i");
        line.style.left = `${at * 100}%`;
        marks.push(line);
      }
    }
    fill(lines, marks);
  }

  /** @param {HTMLElement} node @param {number} from @param {number} width */
  function place(node, from, width) {
    node.style.left = `${from * 100}%`;
    node.style.width = `${width * 100}%`;
  }

  return {
    element: h("div", { class: "context-bar" }, bar, scale, readout, legend),
    update,
    /** Frames a block. @param {number | null} number */
    pick(number) {
      let at = 0;
      picked.hidden = true;
      for (const block of data?.blocks ?? []) {
        if (block.block === number) {
          place(picked, at, share(block.tokens));
          picked.hidden = false;
        }
        at += share(block.tokens);
      }
    },
  };
}

/** @param {BarData} data */
function describe(data) {
  const groups = groupTokens(data.layers).filter(({ tokens }) => tokens > 0);
  const parts = groups.map(({ group, tokens }) => `${GROUP_NAMES[group]} ${count(tokens)}`);
  return `${count(data.used)} of ${count(data.budget)} tokens: ${parts.join(", ")}; ${count(data.cached)} from the cache.`;
}
