// Stored text, exactly as it is, however long.

import { fill, h } from "./dom.js";
import { count } from "./format.js";
import { visible } from "./safe_text.js";
import { notify } from "./notice.js";

/** More than this in one piece makes a browser stall. */
const STEP_CHARS = 20_000;

/**
 * A box with the text, its beginning first; buttons show more and copy all.
 * @param {string} text
 * @param {string} label what the text is, for screen readers
 */
export function textBlock(text, label) {
  const pre = h("pre", { class: "text" });
  const more = h("button", { class: "button plain small", type: "button", click: showMore });
  const copy = h("button", { class: "button plain small", type: "button", click: copyAll }, "Copy");
  let shown = 0;

  function showMore() {
    const end = boundary(text, shown + STEP_CHARS);
    pre.append(document.createTextNode(visible(text.slice(shown, end))));
    shown = end;
    more.hidden = shown >= text.length;
    more.textContent = `Show more: ${count(text.length - shown)} of ${count(text.length)} characters left`;
  }

  async function copyAll() {
    try {
      await navigator.clipboard.writeText(text);
      notify("Copied, exactly as it is stored.");
    } catch {
      notify("The browser does not allow to copy here.", "bad");
    }
  }

  showMore();
  const box = h("div", { class: "text-box", tabindex: 0, role: "region", "aria-label": label }, pre);
  return h("div", { class: "stack-tight" }, box, h("div", { class: "row apart" }, more, h("span"), copy));
}

/**
 * A text of which only the beginning may be there yet; a button fetches the rest.
 * @param {string} beginning
 * @param {number} chars of the whole text
 * @param {string} label
 * @param {(offset: number) => Promise<string>} fetchFrom what comes after so many characters
 */
export function longText(beginning, chars, label, fetchFrom) {
  let text = beginning;
  let has = Array.from(text).length;
  const holder = h("div", { class: "stack" });
  const draw = () => fill(holder, textBlock(text, label), has < chars && h("div", {}, h("button", { class: "button", type: "button", click: loadRest }, `Load the rest: ${count(chars - has)} characters`)));

  /** @param {Event} event */
  async function loadRest(event) {
    const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
    button.disabled = true;
    try {
      while (has < chars) {
        const part = await fetchFrom(has);
        if (part === "") break;
        text += part;
        has += Array.from(part).length;
      }
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), "bad");
    }
    draw();
  }

  draw();
  return holder;
}

/**
 * Never between the two halves of a character.
 * @param {string} text
 * @param {number} end
 */
function boundary(text, end) {
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : Math.min(end, text.length);
}
