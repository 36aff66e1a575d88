// Three lanes over turns: what entered the prompt, what left it, what was rewritten.

import { fill, h, svg } from "./dom.js";
import { count, counted } from "./format.js";
import { changeText, laneOf } from "./changes.js";
import { oneLine } from "./safe_text.js";
import { scaled, X_TICK_EVERY, xTicks } from "./plot.js";

/** @typedef {import("./changes.js").Lane} Lane */

/** @type {Lane[]} */
const LANES = ["entered", "left", "rewritten"];
const NAMES = { entered: "Entered", left: "Left", rewritten: "Rewritten" };
/** In pixels at a font of 16 pixels. */
export const LANES_LEFT = 80;
const RIGHT = 16;

/** @param {(turn: number) => void} onPick */
export function lanes(onPick) {
  const row = scaled(30);
  const left = scaled(LANES_LEFT);
  const canvas = svg("svg", { class: "plot lanes", role: "img", height: row * LANES.length + scaled(22) });
  const element = h("div", { class: "plot-frame" }, canvas);
  let width = 600;
  /** @type {{ from: number, to: number, chosen: number, changes: Api.Change[] }} */
  let data = { from: 1, to: 1, chosen: 1, changes: [] };

  const px = (/** @type {number} */ turn) => left + ((turn - data.from) / Math.max(1, data.to - data.from)) * (width - left - RIGHT);

  function draw() {
    const bottom = row * LANES.length;
    canvas.setAttribute("width", String(width));
    const rows = LANES.flatMap((lane, index) => [
      svg("text", { class: "tick lane-name", x: 0, y: (index + 0.5) * row + 4 }, NAMES[lane]),
      svg("line", { class: "grid", x1: left, x2: width - RIGHT, y1: (index + 0.5) * row, y2: (index + 0.5) * row }),
    ]);
    const ticks = xTicks(data.from, data.to, Math.max(2, Math.floor(width / X_TICK_EVERY))).map((turn) =>
      svg("text", { class: "tick", x: px(turn), y: bottom + scaled(16), "text-anchor": px(turn) > width - scaled(40) ? "end" : "middle" }, count(turn)));
    const chosen = svg("line", { class: "chosen", x1: px(data.chosen), x2: px(data.chosen), y1: 0, y2: bottom });
    const dots = LANES.flatMap((lane, index) => [...byTurn(data.changes, lane)].map(([turn, changes]) => {
      const text = `Turn ${turn}: ${changes.map(changeText).join("; ")}`;
      return svg("circle", {
        class: `dot dot-${lane}`, cx: px(turn), cy: (index + 0.5) * row, r: scaled(Math.min(8, 4 + changes.length)), click: () => onPick(turn),
      }, svg("title", {}, oneLine(text, 300)));
    }));
    fill(canvas, rows, ticks, chosen, dots);
    const sums = LANES.map((lane) => `${NAMES[lane]} ${counted([...byTurn(data.changes, lane).values()].flat().length, "time")}`);
    canvas.setAttribute("aria-label", `Turns ${data.from} to ${data.to}. ${sums.join(", ")}.`);
  }

  new ResizeObserver(([entry]) => {
    const next = Math.round(entry?.contentRect.width ?? width);
    if (next > 0 && next !== width) {
      width = next;
      draw();
    }
  }).observe(element);

  return {
    element,
    /** @param {Partial<typeof data>} next */
    update(next) {
      data = { ...data, ...next };
      draw();
    },
  };
}

/** @param {Api.Change[]} changes @param {Lane} lane */
export function byTurn(changes, lane) {
  /** @type {Map<number, Api.Change[]>} */
  const turns = new Map();
  for (const change of changes) {
    if (change.turn === null || laneOf(change.kind) !== lane) continue;
    const found = turns.get(change.turn);
    if (found) found.push(change);
    else turns.set(change.turn, [change]);
  }
  return turns;
}
