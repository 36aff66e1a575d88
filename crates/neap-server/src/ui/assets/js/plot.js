// A plot of figures over turns, drawn at the size it has on the screen.

import { fill, h, svg } from "./dom.js";
import { count } from "./format.js";

/** @typedef {{ name: string, kind: "accent" | "quiet" | "warm" | "area", values: (number | null)[] }} Series */
/**
 * @typedef {object} PlotData
 * @property {number[]} x ascending
 * @property {Series[]} series
 * @property {number[]} [marks] places on the x axis with a line, such as rewrites
 * @property {number} [limit] a line across, such as the budget
 * @property {number | null} [chosen] the place on the x axis that is in view
 * @property {number} [top] the least upper end of the y axis
 */

const BOTTOM = 26;
const TOP = 10;
const RIGHT = 16;
const TICKS = 4;
/** In pixels at a font of 16 pixels: a character of a tick's name, and what is around the name. */
const TICK_CHAR = 7;
const TICK_GAP = 12;
/** Room for a tick of the x axis, in pixels. */
export const X_TICK_EVERY = 80;

/**
 * @param {object} options
 * @param {string} options.label what is plotted, for screen readers
 * @param {number} options.height in pixels
 * @param {(value: number) => string} options.format
 * @param {(value: number, step: number) => string} [options.tick] of the y axis, whose ticks are a step apart
 * @param {(x: number) => void} [options.onPick]
 * @param {number} [options.left] room for the names of the y axis, in pixels
 */
export function plot({ label, height: designHeight, format, tick = format, onPick, left: designLeft = 56 }) {
  const height = scaled(designHeight);
  let left = scaled(designLeft);
  const canvas = svg("svg", { class: "plot", role: "img", "aria-label": label, height });
  const readout = h("p", { class: "small muted plot-readout" }, "\u00a0");
  const legend = h("ul", { class: "legend small" });
  /** @type {PlotData} */
  let data = { x: [], series: [] };
  let width = 600;

  const low = () => data.x[0] ?? 0;
  const high = () => data.x.at(-1) ?? 1;
  const px = (/** @type {number} */ x) => left + ((x - low()) / Math.max(1, high() - low())) * (width - left - RIGHT);
  const peak = () => niceTop(Math.max(data.top ?? 0, (data.limit ?? 0) * 1.04, ...data.series.flatMap((each) => each.values.map((value) => value ?? 0))));
  const py = (/** @type {number} */ y, /** @type {number} */ top) => TOP + (1 - y / top) * (height - TOP - BOTTOM);

  function draw() {
    const top = peak();
    canvas.setAttribute("width", String(width));
    canvas.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const steps = Array.from({ length: TICKS + 1 }, (_, step) => (top * step) / TICKS).map((value) => ({ value, name: tick(value, top / TICKS) }));
    left = scaled(Math.max(designLeft, TICK_GAP + TICK_CHAR * Math.max(...steps.map(({ name }) => name.length))));
    const grid = steps.flatMap(({ value, name }) => [
      svg("line", { class: "grid", x1: left, x2: width - RIGHT, y1: py(value, top), y2: py(value, top) }),
      svg("text", { class: "tick", x: left - 8, y: py(value, top) + 4, "text-anchor": "end" }, name),
    ]);
    const ticks = xTicks(low(), high(), Math.max(2, Math.floor(width / X_TICK_EVERY))).map((x) =>
      svg("text", { class: "tick", x: px(x), y: height - 4, "text-anchor": px(x) > width - scaled(40) ? "end" : "middle" }, count(x)));
    const marks = (data.marks ?? []).map((x) => svg("line", { class: "mark", x1: px(x), x2: px(x), y1: TOP, y2: height - BOTTOM }));
    const lines = data.series.map((each) => svg("path", { class: `line-${each.kind}`, d: path(each, top) }));
    const limit = data.limit === undefined ? null : svg("line", { class: "limit", x1: left, x2: width - RIGHT, y1: py(data.limit, top), y2: py(data.limit, top) });
    const chosen = data.chosen === null || data.chosen === undefined ? null : svg("line", { class: "chosen", x1: px(data.chosen), x2: px(data.chosen), y1: 0, y2: height - BOTTOM });
    fill(canvas, grid, ticks, marks, lines, limit, chosen);
  }

  /** @param {Series} each @param {number} top */
  function path(each, top) {
    let d = "";
    let isOpen = false;
    each.values.forEach((value, index) => {
      if (value === null) isOpen = false;
      else {
        d += `${isOpen ? "L" : "M"}${px(data.x[index] ?? 0).toFixed(1)} ${py(value, top).toFixed(1)}`;
        isOpen = true;
      }
    });
    if (each.kind === "area" && d !== "") d += `L${px(high()).toFixed(1)} ${py(0, top)}L${px(low()).toFixed(1)} ${py(0, top)}Z`;
    return d;
  }

  /** @param {PointerEvent} event */
  function nearest(event) {
    const at = event.clientX - canvas.getBoundingClientRect().left;
    let best = 0;
    data.x.forEach((x, index) => {
      if (Math.abs(px(x) - at) < Math.abs(px(data.x[best] ?? 0) - at)) best = index;
    });
    return best;
  }

  canvas.addEventListener("pointermove", (event) => {
    const index = nearest(event);
    if (data.x.length === 0) return;
    const parts = data.series.filter((each) => each.values[index] !== null).map((each) => `${each.name} ${format(each.values[index] ?? 0)}`);
    readout.textContent = `Turn ${count(data.x[index])}: ${parts.join(", ")}`;
  });
  canvas.addEventListener("pointerleave", () => (readout.textContent = "\u00a0"));
  if (onPick) {
    canvas.classList.add("picks");
    canvas.addEventListener("click", (event) => onPick(data.x[nearest(/** @type {PointerEvent} */ (event))] ?? 1));
  }
  const element = h("figure", { class: "plot-holder" }, h("div", { class: "plot-frame" }, canvas), h("figcaption", { class: "row apart" }, legend, readout));
  new ResizeObserver(([entry]) => {
    const next = Math.round(entry?.contentRect.width ?? width);
    if (next > 0 && next !== width) {
      width = next;
      draw();
    }
  }).observe(element);

  return {
    element,
    /** @param {PlotData} next */
    update(next) {
      data = next;
      fill(legend, next.series.map((each) => h("li", {}, h("span", { class: `stroke stroke-${each.kind}` }), each.name)),
        next.limit !== undefined && h("li", {}, h("span", { class: "stroke stroke-limit" }), "budget"),
        next.marks && next.marks.length > 0 && h("li", {}, h("span", { class: "stroke stroke-mark" }), "rewritten"));
      draw();
    },
    /** @param {number | null} x */
    choose(x) {
      data = { ...data, chosen: x };
      draw();
    },
  };
}

/** A length that grows with the page's font. @param {number} pixels at a font of 16 pixels */
export function scaled(pixels) {
  return Math.round((pixels / 16) * parseFloat(getComputedStyle(document.documentElement).fontSize));
}

/** The least round number that is not below. @param {number} value */
export function niceTop(value) {
  if (!(value > 0)) return 1;
  const scale = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].find((each) => each * scale >= value) ?? 10;
  return step * scale;
}

/** @param {number} low @param {number} high @param {number} count */
export function xTicks(low, high, count) {
  const rough = Math.max(1, (high - low) / count);
  const scale = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 2, 5, 10].find((each) => each * scale >= rough) ?? 10) * scale);
  const ticks = [];
  for (let x = Math.ceil(low / step) * step; x <= high; x += step) ticks.push(x);
  return ticks;
}
