// A list of any length: only the rows in view exist.

import { h } from "./dom.js";

const OVERSCAN_ROWS = 8;
/** Browsers cannot lay out more; above it, rows are reached by scaled scrolling. */
const HEIGHT_MAX_PX = 8_000_000;

/**
 * @typedef {object} VirtualList
 * @property {HTMLElement} element
 * @property {(count: number) => void} setCount
 * @property {() => void} refresh draws the rows in view anew
 * @property {(index: number) => void} show scrolls until the row is in view
 */

/**
 * @param {object} options
 * @param {string} options.label
 * @param {number} options.rowHeight in pixels
 * @param {(index: number) => HTMLElement} options.row
 * @param {(first: number, last: number) => void} [options.onRange] called with the rows that are in view
 * @returns {VirtualList}
 */
export function virtualList({ label, rowHeight, row, onRange }) {
  const holder = h("div", { class: "virtual-holder", role: "list", "aria-label": label });
  const element = h("div", { class: "virtual" }, holder);
  /** @type {Map<number, HTMLElement>} */
  const drawn = new Map();
  let count = 0;
  let frame = 0;
  let height = 0;

  const scale = () => {
    const view = element.clientHeight;
    const room = Math.max(1, height - view);
    return height < count * rowHeight ? (count * rowHeight - view) / room : 1;
  };
  const offset = () => element.scrollTop * scale();

  function draw() {
    frame = 0;
    const top = offset();
    const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN_ROWS);
    const last = Math.min(count - 1, Math.ceil((top + element.clientHeight) / rowHeight) + OVERSCAN_ROWS);
    for (const [index, node] of drawn) {
      if (index < first || index > last) {
        node.remove();
        drawn.delete(index);
      }
    }
    const shift = element.scrollTop - top;
    for (let index = first; index <= last; index += 1) {
      const node = drawn.get(index) ?? add(index);
      node.style.transform = `translateY(${index * rowHeight + shift}px)`;
    }
    if (last >= first) onRange?.(first, last);
  }

  /** @param {number} index */
  function add(index) {
    const node = row(index);
    node.classList.add("virtual-row");
    node.setAttribute("role", "listitem");
    node.setAttribute("aria-posinset", String(index + 1));
    node.setAttribute("aria-setsize", String(count));
    node.dataset.index = String(index);
    node.style.height = `${rowHeight}px`;
    const after = [...drawn.keys()].filter((drawnIndex) => drawnIndex > index).sort((a, b) => a - b)[0];
    holder.insertBefore(node, after === undefined ? null : (drawn.get(after) ?? null));
    drawn.set(index, node);
    return node;
  }

  const schedule = () => {
    if (!frame) frame = requestAnimationFrame(draw);
  };

  function refresh() {
    const focused = indexOf(document.activeElement);
    for (const node of drawn.values()) node.remove();
    drawn.clear();
    draw();
    if (focused !== undefined) focusRow(focused);
  }

  /** @param {Element | null} target */
  function indexOf(target) {
    const node = target?.closest(".virtual-row");
    return node && holder.contains(node) ? Number(/** @type {HTMLElement} */ (node).dataset.index) : undefined;
  }

  /** @param {number} index */
  function focusRow(index) {
    const target = drawn.get(index)?.querySelector("button, a");
    if (target instanceof HTMLElement) target.focus({ preventScroll: true });
  }

  /** @param {number} index */
  function show(index) {
    const top = index * rowHeight;
    const view = element.clientHeight;
    const now = offset();
    if (top < now) element.scrollTop = top / scale();
    else if (top + rowHeight > now + view) element.scrollTop = (top + rowHeight - view) / scale();
    draw();
  }

  const steps = new Map([["ArrowDown", 1], ["ArrowUp", -1], ["PageDown", 10], ["PageUp", -10]]);
  element.addEventListener("keydown", (event) => {
    const index = indexOf(document.activeElement);
    const step = steps.get(event.key);
    if (index === undefined || step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = Math.min(count - 1, Math.max(0, index + step));
    show(next);
    focusRow(next);
  });
  element.addEventListener("scroll", schedule, { passive: true });
  new ResizeObserver(schedule).observe(element);

  return {
    element,
    setCount(next) {
      count = next;
      height = Math.min(HEIGHT_MAX_PX, count * rowHeight);
      holder.style.height = `${height}px`;
      refresh();
    },
    refresh,
    show,
  };
}
