// Makes the npm packages: `node tools/packages.mjs --binary target/release/neap --out dist/npm [--target linux-x64]`.
// The package of the client must be built before (`npm run build`).
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const CLIENT = fileURLToPath(new URL("../", import.meta.url));
const ROOT = join(CLIENT, "../..");
/** The platforms that a release is built for, as npm names them. */
export const TARGETS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];
const LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"];
/** What only those who work on the client need. */
const OWN = ["scripts", "devDependencies"];

/** The folders that it made: that of the program, and that of the client. */
export function assemble({ binary, out, target }) {
  if (!TARGETS.includes(target)) throw new Error(`there is no target ${target}; one of ${TARGETS.join(", ")}`);
  if (!existsSync(binary)) throw new Error(`there is no program at ${binary}`);
  if (!existsSync(join(CLIENT, "dist/index.js"))) throw new Error("the client is not built: npm run build");
  const client = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8"));
  return [programPackage(client, binary, join(out, target), target), clientPackage(client, join(out, "neap"))];
}

function programPackage(client, binary, folder, target) {
  const [os, cpu] = target.split("-");
  const name = os === "win32" ? "neap.exe" : "neap";
  emptied(join(folder, "bin"), folder);
  copyFileSync(binary, join(folder, "bin", name));
  chmodSync(join(folder, "bin", name), 0o755);
  const described = {
    name: `@neap/${target}`,
    version: client.version,
    description: `The program of neap for ${target}`,
    license: client.license,
    os: [os],
    cpu: [cpu],
    bin: { neap: `bin/${name}` },
    files: ["bin"],
    preferUnplugged: true,
  };
  return finished(
    folder,
    described,
    `The program \`neap\` for ${target}. Install the package \`neap\`, which finds it.\n`,
  );
}

function clientPackage(client, folder) {
  emptied(folder, folder);
  cpSync(join(CLIENT, "dist"), join(folder, "dist"), { recursive: true });
  copyFileSync(join(CLIENT, "openclaw.plugin.json"), join(folder, "openclaw.plugin.json"));
  const described = Object.fromEntries(Object.entries(client).filter(([key]) => !OWN.includes(key)));
  described.optionalDependencies = Object.fromEntries(TARGETS.map((target) => [`@neap/${target}`, client.version]));
  return finished(folder, described, readFileSync(join(CLIENT, "README.md"), "utf8"));
}

function emptied(folder, whole) {
  rmSync(whole, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

function finished(folder, described, readme) {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(described, null, 2)}\n`);
  writeFileSync(join(folder, "README.md"), readme);
  for (const license of LICENSES) copyFileSync(join(ROOT, license), join(folder, license));
  return folder;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      binary: { type: "string" },
      out: { type: "string", default: "dist/npm" },
      target: { type: "string", default: `${process.platform}-${process.arch}` },
    },
  });
  if (values.binary === undefined) {
    console.error("usage: packages.mjs --binary PROGRAM [--out dist/npm] [--target linux-x64]");
    process.exit(2);
  }
  for (const folder of assemble({ ...values, out: resolve(values.out) })) console.log(folder);
}
