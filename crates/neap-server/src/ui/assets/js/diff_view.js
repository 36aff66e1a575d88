// Two prompts, block by block: what both have is folded.

import { get, pathOf } from "./api.js";
import { fill, h } from "./dom.js";
import { count, counted } from "./format.js";
import { blockInfo } from "./layers.js";
import { textBlock } from "./text_block.js";
import { visible } from "./safe_text.js";
import { fetchPrompt } from "./prompt_source.js";

/** @typedef {{ change: Api.DiffBlock["change"], blocks: Api.DiffBlock[] }} Run */

/** @param {Api.DiffBlock[]} blocks @returns {Run[]} */
export function runs(blocks) {
  /** @type {Run[]} */
  const list = [];
  for (const block of blocks) {
    const last = list.at(-1);
    if (last && last.change === block.change && block.change === "same") last.blocks.push(block);
    else list.push({ change: block.change, blocks: [block] });
  }
  return list;
}

/**
 * @param {string} session
 * @param {number} turn
 * @param {number} against
 * @param {AbortSignal} signal
 */
export async function diffView(session, turn, against, signal) {
  /** @type {Api.Diff} */
  const diff = await get(pathOf("sessions", session, "turns", turn, "diff"), { with: against }, signal);
  const sum = (/** @type {string} */ change) => diff.blocks.filter((block) => block.change === change).reduce((all, block) => all + block.tokens, 0);
  const head = h("p", { class: "row small" },
    h("span", { class: "tag good" }, `+ ${count(sum("added"))} tokens`),
    h("span", { class: "tag bad" }, `− ${count(sum("removed"))} tokens`),
    h("span", { class: "tag" }, `= ${count(diff.same_tokens)} tokens the same`));
  return h("div", { class: "stack" }, head, h("div", { class: "diff" }, runs(diff.blocks).map(drawRun)));

  /** @param {Run} run */
  function drawRun(run) {
    const [first] = run.blocks;
    if (run.change === "same") {
      const tokens = run.blocks.reduce((all, block) => all + block.tokens, 0);
      return h("p", { class: "diff-same small muted" }, `${counted(run.blocks.length, "block")} the same, ${count(tokens)} tokens`);
    }
    return first ? drawBlock(first) : null;
  }

  /** @param {Api.DiffBlock} block */
  function drawBlock(block) {
    const isAdded = block.change === "added";
    const body = h("pre", { class: "text" }, visible(block.text));
    const whole = h("button", { class: "button plain small", type: "button", click: showWhole }, "Whole text");
    const element = h("div", { class: isAdded ? "diff-block added" : "diff-block removed" },
      h("div", { class: "row apart small" },
        h("span", {}, h("strong", {}, isAdded ? "+ entered " : "− left "), `${blockInfo(block).name}, ${block.role}`),
        h("span", { class: "row" }, whole, h("span", {}, `${count(block.tokens)} tokens`))),
      body);
    return element;

    async function showWhole() {
      whole.disabled = true;
      const prompt = await fetchPrompt(session, isAdded ? turn : against, signal);
      const found = prompt.blocks.find((each) => each.block === block.block);
      if (found) body.replaceWith(textBlock(found.text, "The block's text"));
      whole.remove();
    }
  }
}

/**
 * A prompt as it was sent, as one page.
 * @param {string} session
 * @param {number} turn
 * @param {AbortSignal} signal
 */
export async function promptView(session, turn, signal) {
  const prompt = await fetchPrompt(session, turn, signal);
  const holder = h("div", { class: "stack" });
  fill(holder,
    h("p", { class: "small muted" }, prompt.exact ? `${count(prompt.tokens_total)} tokens, exactly as they were sent.` : (prompt.note ?? "Not exactly as it was sent.")),
    textBlock(promptText(prompt), `The prompt of turn ${turn}`));
  return holder;
}

/** @param {Api.Prompt} prompt */
export function promptText(prompt) {
  let role = "";
  let text = "";
  for (const block of prompt.blocks) {
    if (block.role !== role) {
      role = block.role;
      text += `${text === "" ? "" : "\n\n"}── ${role} ──\n`;
    } else if (!text.endsWith("\n")) text += "\n";
    text += block.text;
    const rest = block.chars - Array.from(block.text).length;
    if (rest > 0) text += `\n[${count(rest)} more characters: see the block]\n`;
  }
  return text;
}
