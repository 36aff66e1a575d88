// Text and figures as the page shows them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, brief, count, counted, dollarTick, dollars, duration, percent } from "../../src/ui/assets/js/format.js";
import { oneLine, visible } from "../../src/ui/assets/js/safe_text.js";
import { parsePlace, placeHash, replaceQuery } from "../../src/ui/assets/js/router.js";
import { forSeeds } from "./random.js";

const PIECES = ["a", "ß", "日", "😀", "\u202e", "\u2066", "\u001b[31m", "\u0007", "\u009b", "\r\n", "\r", "\n", "\t", " ", "\u200b", "\ufeff", "\u{e0041}", "<b>", "\u2028", "\u007f"];

test("no character that hides or reorders text is shown as it is", () => {
  forSeeds(300, (random) => {
    const text = Array.from({ length: random.int(30) }, () => random.pick(PIECES)).join("");
    const shown = visible(text);
    for (const character of shown) {
      const code = /** @type {number} */ (character.codePointAt(0));
      const isHidden = (code < 0x20 && character !== "\n" && character !== "\t") || (code >= 0x7f && code <= 0x9f) || /\p{Cf}|\p{Zl}|\p{Zp}/u.test(character);
      assert.ok(!isHidden, `U+${code.toString(16)} of ${JSON.stringify(text)}`);
    }
    assert.equal(visible(shown), shown);
  });
});

test("what is not hidden stays as it is", () => {
  assert.equal(visible("Grüße, 日本 😀\n\tok"), "Grüße, 日本 😀\n\tok");
  assert.equal(visible("a\u202eb\u001b[0m\r\nc"), "a‹U+202E›b␛[0m\nc");
});

test("one line has one line, and never more characters than asked for", () => {
  forSeeds(300, (random) => {
    const text = Array.from({ length: random.int(60) }, () => random.pick(PIECES)).join("");
    const max = 1 + random.int(40);
    const line = oneLine(text, max);
    assert.ok(!/[\n\r\t]/u.test(line), line);
    assert.ok(Array.from(line).length <= max, line);
  });
  assert.equal(oneLine("one two", 40), "one two");
  assert.equal(oneLine("abcdef", 4), "abc…");
});

test("an address names the same place after it was written and read", () => {
  const names = ["main", "a/b", "a b", "ä?x=1", "#", "%41", "\"><svg onload=x>", "日本", "a&b=c"];
  forSeeds(200, (random) => {
    const session = random.pick(names);
    const value = random.pick(names);
    const place = parsePlace(placeHash("timeline", session, { turn: 12, q: value, none: "" }));
    assert.deepEqual([place.screen, place.session, place.query.get("turn"), place.query.get("q"), place.query.has("none")], ["timeline", session, "12", value, false]);
  });
  assert.deepEqual([parsePlace("").screen, parsePlace("#/x/%E0%A4%A").session], ["", "%E0%A4%A"]);
});

test("figures", () => {
  assert.equal(count(1234567), "1,234,567");
  assert.equal(count(null), "–");
  assert.equal(counted(1, "turn"), "1 turn");
  assert.equal(counted(2000, "turn"), "2,000 turns");
  assert.deepEqual([0, 950, 1200, 15_000, 250_000, 1_250_000].map(brief), ["0", "950", "1.2k", "15k", "250k", "1.3M"]);
  assert.deepEqual([dollars(0), dollars(1.5), dollars(-0.25), dollars(0.00444), dollars(12_345.6)], ["$0.00", "$1.50", "-$0.250", "$0.00444", "$12,346"]);
  const axis = (/** @type {number} */ top) => [0, 1, 2, 3, 4].map((step) => dollarTick((top * step) / 4, top / 4));
  assert.deepEqual(axis(0.02), ["$0.000", "$0.005", "$0.010", "$0.015", "$0.020"]);
  assert.deepEqual(axis(3), ["$0.00", "$0.75", "$1.50", "$2.25", "$3.00"]);
  assert.deepEqual(axis(1.2), ["$0.00", "$0.30", "$0.60", "$0.90", "$1.20"]);
  assert.deepEqual(axis(400), ["$0", "$100", "$200", "$300", "$400"]);
  assert.deepEqual([percent(1, 0), percent(1, 3), percent(1, 30), percent(0, 5)], ["–", "33 %", "3.3 %", "0 %"]);
  assert.deepEqual([duration(900), duration(12_000)], ["900 ms", "12 s"]);
  assert.deepEqual([ago(0, 30_000), ago(0, 120_000), ago(0, 7_200_000), ago(0, 86_400_000 * 2)], ["just now", "2 min ago", "2 h ago", "2 days ago"]);
});

test("an address that changes all the time is written seldom, and last as it is last", async () => {
  const written = /** @type {string[]} */ ([]);
  const place = { hash: "#/timeline/talk?view=prompt" };
  const replaceState = (/** @type {unknown} */ _state, /** @type {string} */ _title, /** @type {string} */ address) => {
    written.push(address);
    place.hash = address;
  };
  Object.assign(globalThis, { location: place, history: { replaceState } });
  for (let turn = 1; turn <= 400; turn += 1) replaceQuery({ turn });
  assert.equal(written.length, 1);
  await until(() => written.length > 1);
  assert.deepEqual(written, ["#/timeline/talk?view=prompt&turn=1", "#/timeline/talk?view=prompt&turn=400"]);
  // What was to be written elsewhere is not written here.
  replaceQuery({ turn: 7 });
  place.hash = "#/sessions";
  replaceQuery({ q: "talk" });
  await until(() => written.length > 2);
  assert.equal(written.at(-1), "#/sessions?q=talk");
});

/** @param {() => boolean} holds */
async function until(holds) {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
