// How quick the page is on a large store (`store.py` makes one): for each screen the time to the first paint and until it is settled, the
// longest frame while its list is scrolled from end to end, and the largest answer.
//
//   NEAP_BIN=target/release/neap node bench/page/measure.mjs FOLDER
//
// Exit code 0 if the first paint takes less than 500 ms, no frame more than 100 ms, and no answer more than 200 kB.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { goTo, launch, SCREENS, settled } from "../../crates/neap-server/ui-tests/browser/harness.js";

const FIRST_PAINT_MS = 500;
const FRAME_MS = 100;
const ANSWER_BYTES = 200_000;
const STEPS = 60;
const SESSION = "marathon";

const folder = process.argv[2];
if (!folder) throw new Error("name the folder of the store");
const program = process.env.NEAP_BIN ?? new URL("../../target/release/neap", import.meta.url).pathname;
const server = spawn(program, ["--data-dir", folder, "ui", "--listen", "127.0.0.1:0", "--no-open"], { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, NEAP_EMBEDDER: "none" } });
const enter = await new Promise((resolve) => createInterface({ input: server.stdout }).on("line", (line) => /^http:\S+/u.test(line) && resolve(line)));
const origin = new URL(enter).origin;
const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
const page = await context.newPage();
page.setDefaultTimeout(60_000);
await page.goto(enter);
await settled(page, "context");

let largest = { bytes: 0, path: "" };
page.on("response", async (answer) => {
  const body = await answer.body().catch(() => Buffer.alloc(0));
  if (answer.url().includes("/api/") && body.length > largest.bytes) largest = { bytes: body.length, path: new URL(answer.url()).pathname };
});

/** Scrolls the first list from end to end, a step a frame. */
const longestFrame = (steps) => new Promise((resolve) => {
  const list = document.querySelector(".virtual") ?? document.scrollingElement;
  let [step, before, longest] = [0, performance.now(), 0];
  const frame = (now) => {
    longest = Math.max(longest, now - before);
    before = now;
    list.scrollTop = ((step += 1) / steps) * list.scrollHeight;
    if (step < steps) requestAnimationFrame(frame);
    else resolve(longest);
  };
  requestAnimationFrame((now) => ((before = now), requestAnimationFrame(frame)));
});

let isMet = true;
const report = (screen, name, value, unit, max) => {
  isMet &&= max === undefined || value < max;
  process.stdout.write(`${max === undefined || value < max ? "ok  " : "MISS"} ${screen.padEnd(10)} ${name.padEnd(14)} ${Math.round(value)} ${unit}${max === undefined ? "" : `  (aim: under ${max})`}\n`);
};
for (const screen of SCREENS) {
  const place = screen === "recall" ? "recall?q=parser" : ["memories", "now", "sessions"].includes(screen) ? screen : `${screen}/${SESSION}`;
  await page.goto("about:blank");
  const began = Date.now();
  await page.goto(`${origin}/ui/#/${place}`, { waitUntil: "commit" });
  await settled(page, screen);
  report(screen, "settled", Date.now() - began, "ms");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN);
  report(screen, "first paint", paint, "ms", FIRST_PAINT_MS);
  report(screen, "longest frame", await page.evaluate(longestFrame, STEPS), "ms", FRAME_MS);
}
await goTo(page, "sessions");
report("all", `answer ${largest.path}`, largest.bytes, "bytes", ANSWER_BYTES);
await browser.close();
server.kill();
process.exitCode = isMet ? 0 : 1;
