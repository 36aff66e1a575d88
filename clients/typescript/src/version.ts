/** The version of this package, which is that of the program in its platform packages. */

import { errorOf, fieldsOf, VersionMismatch } from "./errors.js";

export const VERSION: string = "0.1.0";

/**
 * Refuses a server whose API may differ, by its answer to GET /health.
 *
 * Versions are compatible while their first two numbers agree.
 */
export function checkVersion(status: number, content: string, version: string = VERSION): void {
  const served = fieldsOf(content)["version"];
  if (typeof served !== "string") {
    const refusal = errorOf(status, content);
    if (refusal.code !== "unknown") throw refusal;
    throw new VersionMismatch("what answers there is no Neap server", "check baseUrl");
  }
  if (seriesOf(served) !== seriesOf(version)) {
    throw new VersionMismatch(
      `the server is Neap ${served}, this package is made for ${version}`,
      `install the package of the server (npm install neap@${served}), or update the server`,
    );
  }
}

function seriesOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}
