// The page's files: how large they are, what they fetch, and what the policy would refuse.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, normalize } from "node:path";
import { test } from "node:test";

const ASSETS = new URL("../../src/ui/assets/", import.meta.url).pathname;
const BYTES_MAX = 300_000;
const LINES_MAX = 300;

const files = readdirSync(ASSETS, { recursive: true }).map(String).filter((name) => statSync(join(ASSETS, name)).isFile());
const text = (/** @type {string} */ name) => readFileSync(join(ASSETS, name), "utf8");

/** What a module imports before it runs. @param {string} name @param {Set<string>} seen */
function closure(name, seen) {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const [, path] of text(name).matchAll(/^import .*? from "([./\w]+)";$/gmu)) closure(normalize(join(name, "..", String(path))), seen);
  return seen;
}

test("all files together stay small", () => {
  const bytes = files.reduce((sum, name) => sum + statSync(join(ASSETS, name)).size, 0);
  assert.ok(bytes <= BYTES_MAX, `${bytes} bytes`);
  for (const name of files) assert.ok(text(name).split("\n").length <= LINES_MAX, name);
});

test("nothing is inline, nothing comes from elsewhere, and no text becomes markup", () => {
  for (const name of files) {
    const content = text(name);
    const addresses = [...content.matchAll(/https?:\/\/[^\s"')]+/gu)].map(([address]) => address);
    assert.deepEqual(addresses.filter((address) => !address.startsWith("http://www.w3.org/")), [], name);
    assert.ok(!/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\("style"|style: "/u.test(content), name);
    if (name.endsWith(".html")) assert.ok(!/<style|style=|<script>|\son\w+=/u.test(content), name);
  }
});

test("the modules of the first screen are fetched at once", () => {
  const needed = closure("js/screens/context.js", closure("js/main.js", new Set()));
  needed.delete("js/main.js");
  const preloaded = [...text("index.html").matchAll(/modulepreload" href="([^"]+)"/gu)].map(([, path]) => path);
  assert.deepEqual([...needed].sort(), preloaded.sort());
});

test("every module is reached from the page", () => {
  const screens = files.filter((name) => name.startsWith("js/screens/"));
  const reached = screens.reduce((seen, name) => closure(name, seen), closure("js/main.js", new Set(["js/theme_first.js"])));
  assert.deepEqual(files.filter((name) => name.endsWith(".js") && !reached.has(name)), []);
  for (const screen of screens) assert.ok(text("js/screens.js").includes(screen.slice("js/".length)), screen);
});
