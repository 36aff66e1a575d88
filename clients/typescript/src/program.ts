/** Finds the program `neap`. */

import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join, sep } from "node:path";
import process from "node:process";

import { ProgramMissing } from "./errors.js";

const NAME = process.platform === "win32" ? "neap.exe" : "neap";
/** The package that has the program for this platform. */
export const PLATFORM_PACKAGE: string = `@neap/${process.platform}-${process.arch}`;

/** The one that is given, that of NEAP_BIN, that of this platform's package, or the one on the path. */
export function findProgram(given?: string, from: string = import.meta.url): string {
  const named = given ?? (process.env["NEAP_BIN"] || undefined);
  if (named !== undefined) {
    const found = named.includes("/") || named.includes(sep) ? executable(named) : onPath(named);
    if (found !== undefined) return found;
    const where = given === undefined ? "NEAP_BIN" : "program";
    throw new ProgramMissing(
      `there is no program at ${named}`,
      `${where} must be the path of the program neap, which must be executable`,
    );
  }
  const found = inPackage(from) ?? onPath(NAME);
  if (found !== undefined) return found;
  throw new ProgramMissing(
    `the program neap is neither in a package ${PLATFORM_PACKAGE} nor on the path`,
    "install neap without --omit=optional, or name the program: new Neap({ program }) or NEAP_BIN",
  );
}

function inPackage(from: string): string | undefined {
  try {
    const described = createRequire(from).resolve(`${PLATFORM_PACKAGE}/package.json`);
    return executable(join(dirname(described), "bin", NAME));
  } catch {
    // It is optional: npm leaves it out where it is not asked for or does not fit.
    return undefined;
  }
}

function onPath(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => executable(join(folder, name))).find((found) => found !== undefined);
}

function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}
