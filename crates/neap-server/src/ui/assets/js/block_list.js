// The blocks of a prompt as a list, under the names of their layers.

import { h } from "./dom.js";
import { count } from "./format.js";
import { blockInfo, blockTitle, layerInfo } from "./layers.js";
import { rowPixels } from "./master_detail.js";
import { fetchBlockText } from "./prompt_source.js";
import { placeHash } from "./router.js";
import { oneLine } from "./safe_text.js";
import { longText } from "./text_block.js";
import { virtualList } from "./virtual_list.js";

/** @typedef {{ layer: string, tokens: number } | Api.Block} Row */

/** @param {(block: Api.Block, asked: boolean) => void} onPick */
export function blockList(onPick) {
  /** @type {Row[]} */
  let rows = [];
  /** @type {number | null} */
  let picked = null;
  let largest = 1;
  const list = virtualList({ label: "Blocks of the prompt", rowHeight: rowPixels(3.5), row: (index) => drawRow(/** @type {Row} */ (rows[index])) });

  /** @param {Row} row */
  function drawRow(row) {
    if (!("block" in row)) {
      const { name, group, about } = layerInfo(row.layer);
      return h("div", {}, h("div", { class: "list-head" },
        h("span", { class: `swatch fill-${group}` }), h("strong", {}, name), h("span", { class: "clip grows" }, about), h("span", { class: "number" }, count(row.tokens))));
    }
    const meter = h("i", { class: `fill-${blockInfo(row).group}` });
    meter.style.width = `${Math.max(2, (row.tokens / largest) * 100)}%`;
    return h("div", {}, h("button", { class: "item block-item", type: "button", "aria-current": row.block === picked ? "true" : null, click: () => choose(row) },
      h("span", { class: "meter", "aria-hidden": "true" }, meter),
      h("span", { class: "clip" },
        h("span", { class: "top" }, oneLine(blockTitle(row), 90)),
        h("span", { class: "below" }, oneLine(row.text, 140))),
      h("span", { class: "number" }, count(row.tokens))));
  }

  /** @param {Api.Block} block */
  function choose(block) {
    picked = block.block;
    list.refresh();
    onPick(block, true);
  }

  return {
    element: h("div", { class: "card flush" }, list.element),
    /** @param {Api.Block[]} blocks */
    update(blocks) {
      rows = withHeads(blocks);
      largest = Math.max(1, ...blocks.map((block) => block.tokens));
      list.setCount(rows.length);
      const again = blocks.find((block) => block.block === picked) ?? blocks.at(-1);
      if (!again) return;
      picked = again.block;
      list.refresh();
      onPick(again, false);
    },
    /** @param {string} layer */
    showLayer(layer) {
      const index = rows.findIndex((row) => row.layer === layer);
      if (index < 0) return;
      list.show(Math.min(rows.length - 1, index + 6));
      list.show(index);
      const first = rows.slice(index, index + 2).find((row) => "block" in row);
      if (first && "block" in first) choose(first);
    },
  };
}

/**
 * A layer of several blocks has a head with their sum.
 * @param {Api.Block[]} blocks
 * @returns {Row[]}
 */
export function withHeads(blocks) {
  /** @type {Row[]} */
  const rows = [];
  let head = { layer: "", tokens: 0 };
  // Messages without a layer stand by themselves.
  if (blocks.some((block) => block.layer === null)) return blocks;
  blocks.forEach((block, index) => {
    if (head.layer !== block.layer) {
      head = { layer: block.layer ?? "", tokens: 0 };
      if (blocks[index + 1]?.layer === block.layer) rows.push(head);
    }
    head.tokens += block.tokens;
    rows.push(block);
  });
  return rows;
}

/**
 * @param {string} session
 * @param {number} turn
 * @param {Api.Block} block
 */
export function blockDetail(session, turn, block) {
  const { name, group, about } = blockInfo(block);
  const effort = !block.effort ? null : h("a", { href: placeHash("efforts", session, { effort: block.effort }) }, oneLine(block.effort, 80));
  const origin = !block.turn ? null : h("a", { href: placeHash("timeline", session, { turn: block.turn }) }, `turn ${block.turn}`);
  const content = [
    h("div", { class: "row" },
      h("span", { class: "tag" }, h("span", { class: `swatch fill-${group}` }), " ", name),
      h("span", { class: "tag" }, block.role),
      h("span", { class: block.cached ? "tag good" : "tag" }, block.cached ? "from the cache" : "sent anew"),
      h("span", { class: "muted small" }, `${count(block.tokens)} tokens`)),
    h("dl", { class: "pairs" },
      h("dt", {}, "Why it is here"), h("dd", {}, oneLine(block.why || about, 400)),
      effort && h("dt", {}, "Effort"), effort && h("dd", {}, effort),
      origin && h("dt", {}, "Said in"), origin && h("dd", {}, origin)),
    longText(block.text, block.chars, "The block's text", (offset) => fetchBlockText(session, turn, block.block, offset)),
  ];
  return { title: oneLine(blockTitle(block), 120), content };
}
