// A list and what is chosen in it: side by side where there is room, else in a dialog.

import { openDialog } from "./dialog.js";
import { fill, h } from "./dom.js";

const WIDE = "(min-width: 75.01rem)";

/**
 * @param {HTMLElement} list
 * @param {HTMLElement} placeholder shown until something is chosen
 * @param {string} label
 * @param {"wide-right" | "even"} [layout]
 */
export function masterDetail(list, placeholder, label, layout = "wide-right") {
  const wide = matchMedia(WIDE);
  const detail = h("section", { class: "card detail sticks", "aria-label": label }, placeholder);
  const element = h("div", { class: `columns ${layout}` }, list, detail);
  /** @type {HTMLDialogElement | null} */
  let dialog = null;
  const arrange = () => (detail.hidden = !wide.matches);
  arrange();
  wide.addEventListener("change", () => {
    arrange();
    dialog?.close();
  });
  return {
    element,
    /**
     * @param {string} title
     * @param {import("./dom.js").Child[]} content
     * @param {boolean} asked false if nobody clicked: then no dialog opens
     */
    show(title, content, asked) {
      if (wide.matches) {
        fill(detail, h("h2", {}, title), ...content);
        return;
      }
      const body = dialog?.open ? dialog.querySelector(".stack") : null;
      if (body) {
        const actions = body.lastElementChild;
        fill(body, h("h2", { id: "dialog-title" }, title), h("div", { class: "detail" }, ...content), actions);
      } else if (asked) {
        dialog = openDialog(title, [h("div", { class: "detail" }, ...content)]);
        dialog.classList.add("large");
      }
    },
  };
}

/** What of the root's font size a row takes. @param {number} rem */
export function rowPixels(rem) {
  return Math.round(rem * parseFloat(getComputedStyle(document.documentElement).fontSize));
}
