/** The README's examples and the one of `examples/typescript` compile and run, and so do packages that were installed. */

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";

import { folderFor, PACKAGE, PROGRAM, ROOT } from "./support.js";

const run = promisify(execFile);
const TSC = join(PACKAGE, "node_modules/.bin/tsc");
/** For the middleware's example, which leaves the model to the reader. */
const MODEL = `import { MockLanguageModelV4 } from "ai/test";
const none = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
const yourModel = new MockLanguageModelV4({
  doGenerate: async () => ({
    content: [{ type: "text", text: "The refresh token expires." }],
    finishReason: { unified: "stop", raw: undefined },
    usage: { inputTokens: none, outputTokens: { total: undefined, text: undefined, reasoning: undefined } },
    warnings: [],
  }),
});
`;

/** Compiles the files of a folder below the package, so that its packages are found; gives where they are then. */
async function compiled(name: string, files: Record<string, string>): Promise<string> {
  const folder = join(PACKAGE, "build", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const options = {
    compilerOptions: { rootDir: ".", outDir: ".", declaration: false },
    include: ["*.ts"],
    exclude: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", ...options }));
  await run(TSC, ["-p", folder]).catch((error: { stdout: string }) => assert.fail(error.stdout));
  return folder;
}

test("the README's examples run", async (t) => {
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  const examples = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map((found) => found[1] ?? "");
  assert.equal(examples.length, 4);
  const files = examples.map((text, at) => [`example${at}.ts`, text.includes("yourModel") ? MODEL + text : text]);
  const folder = await compiled("readme", Object.fromEntries(files) as Record<string, string>);
  const env = { ...process.env, NEAP_BIN: PROGRAM, NEAP_DATA_DIR: join(folderFor(t), "data") };
  let said = "";
  for (const [at] of examples.entries()) {
    said += (await run(process.execPath, [join(folder, `example${at}.js`)], { env })).stdout;
  }
  for (const part of [
    "401 an hour after login",
    "Staging runs PostgreSQL 16",
    "1 users get a 401",
    "open { resumed: false }",
    "404 no_session",
    "The refresh token expires.",
  ]) {
    assert.ok(said.includes(part), `${part} is missing in\n${said}`);
  }
});

test("the example's agent remembers from run to run", async (t) => {
  const source = join(ROOT, "examples/typescript");
  const files = readdirSync(source).map((file) => [file, readFileSync(join(source, file), "utf8")]);
  const folder = await compiled("example", Object.fromEntries(files) as Record<string, string>);
  const env = { ...process.env, NEAP_BIN: PROGRAM, NEAP_DATA_DIR: join(folderFor(t), "data") };
  const agent = async (...prompts: string[]): Promise<string> =>
    (await run(process.execPath, [join(folder, "agent.js"), ...prompts], { env })).stdout;
  assert.match(await agent("Staging runs PostgreSQL 16", "look at db-1"), /db-1 answers[^]*2 turns are recorded/);
  const said = await agent("which PostgreSQL runs on staging?");
  assert.match(said, /\n.*Staging runs PostgreSQL 16[^]*3 turns are recorded/);
});

test("packages that were made install offline, and run with the program in them", async (t) => {
  const folder = folderFor(t);
  // Without symbols, which take most of the time to pack.
  execFileSync("strip", ["-o", join(folder, "program"), PROGRAM]);
  const out = join(folder, "npm");
  const made = await run(process.execPath, [
    join(PACKAGE, "tools/packages.mjs"),
    `--binary=${join(folder, "program")}`,
    `--out=${out}`,
  ]);
  const pack = async (from: string): Promise<string> => {
    const { stdout } = await run("npm", ["pack", "--offline", "--silent", `--pack-destination=${folder}`, from]);
    return join(folder, stdout.trim());
  };
  const tarballs = await Promise.all(made.stdout.trim().split("\n").map(pack));
  assert.equal(tarballs.length, 2);
  const app = join(folder, "app");
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), '{"type":"module"}');
  await run("npm", ["install", "--offline", "--silent", ...tarballs], { cwd: app });
  const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
  writeFileSync(join(app, "app.js"), /^```ts\n([^]*?)^```$/m.exec(readme)?.[1] ?? "");
  const env = { HOME: folder, PATH: "", NEAP_DATA_DIR: join(folder, "data") };
  const { stdout } = await run(process.execPath, ["app.js"], { cwd: app, env });
  assert.match(stdout, /401 an hour after login/);
  const version = await run(join(app, "node_modules/.bin/neap"), ["--version"]);
  assert.match(version.stdout, /^neap 0\.1\./);
});
