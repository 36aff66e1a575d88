// Three lanes over turns: what entered the prompt, what left it, what was rewritten.

import { fill, h, svg } from "./dom.js";
import { counted } from "./format.js";
import { changeText, laneOf } from "./changes.js";
import { oneLine } from "./safe_text.js";
import { xTicks } from "./plot.js";

/** @typedef {import("./changes.js").Lane} Lane */

/** @type {Lane[]} */
const LANES = ["entered", "left", "rewritten"];
const NAMES = { entered: "Entered", left: "Left", rewritten: "Rewritten" };
const ROW = 30;
export const LANES_LEFT = 78;
const RIGHT = 12;
const RADIUS_MAX = 8;

/** @param {(turn: number) => void} onPick */
export function lanes(onPick) {
  const canvas = svg("svg", { class: "plot lanes", role: "img", height: ROW * LANES.length + 22 });
  const element = h("div", { class: "plot-frame" }, canvas);
  let width = 600;
  /** @type {{ from: number, to: number, chosen: number, changes: Api.Change[] }} */
  let data = { from: 1, to: 1, chosen: 1, changes: [] };

  const px = (/** @type {number} */ turn) => LANES_LEFT + ((turn - data.from) / Math.max(1, data.to - data.from)) * (width - LANES_LEFT - RIGHT);

  function draw() {
    const bottom = ROW * LANES.length;
    canvas.setAttribute("width", String(width));
    const rows = LANES.flatMap((lane, index) => [
      svg("text", { class: "tick lane-name", x: 0, y: index * ROW + ROW / 2 + 4 }, NAMES[lane]),
      svg("line", { class: "grid", x1: LANES_LEFT, x2: width - RIGHT, y1: index * ROW + ROW / 2, y2: index * ROW + ROW / 2 }),
    ]);
    const ticks = xTicks(data.from, data.to, Math.max(2, Math.floor(width / 110))).map((turn) =>
      svg("text", { class: "tick", x: px(turn), y: bottom + 16, "text-anchor": "middle" }, String(turn)));
    const chosen = svg("line", { class: "chosen", x1: px(data.chosen), x2: px(data.chosen), y1: 0, y2: bottom });
    const dots = LANES.flatMap((lane, index) => [...byTurn(data.changes, lane)].map(([turn, changes]) => {
      const text = `Turn ${turn}: ${changes.map(changeText).join("; ")}`;
      return svg("circle", {
        class: `dot dot-${lane}`, cx: px(turn), cy: index * ROW + ROW / 2, r: Math.min(RADIUS_MAX, 4 + changes.length), click: () => onPick(turn),
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
