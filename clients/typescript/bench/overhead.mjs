// What a call costs beside a bare request to the same server over one connection, and how long a server takes to start:
// `npm run build && NEAP_BIN=... node bench/overhead.mjs`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

import { findProgram, Neap } from "neap";

const ROUNDS = 1000;
const STARTS = 11;

async function milliseconds(call) {
  const began = performance.now();
  await call();
  return performance.now() - began;
}

function median(times) {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)];
}

function bare(baseUrl, key) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const options = { agent, headers: { authorization: `Bearer ${key}` } };
  return () =>
    new Promise((resolve, reject) => {
      const request = http.get(`${baseUrl}/api/v1/sessions/bench`, options, (answer) => {
        let text = "";
        answer
          .setEncoding("utf8")
          .on("data", (part) => (text += part))
          .on("end", () => resolve(JSON.parse(text)));
      });
      request.on("error", reject);
    });
}

const dataDir = mkdtempSync(join(tmpdir(), "neap-bench-"));
console.log("program:", findProgram());
const neap = await Neap.connect({ dataDir });
await neap.recordTurn("bench", "message", "reply");
const call = bare(await neap.baseUrl(), readFileSync(join(dataDir, "keys/api.token"), "utf8").trim());
const [others, own] = [[], []];
for (let round = 0; round < ROUNDS; round += 1) {
  others.push(await milliseconds(call));
  own.push(await milliseconds(() => neap.showSession("bench")));
}
const more = median(own) - median(others);
console.log(
  `p50 of ${ROUNDS} calls: http.get ${median(others).toFixed(2)} ms, this client ${median(own).toFixed(2)} ms, more ${more.toFixed(2)} ms`,
);
await neap.close();
const starts = [];
for (let start = 0; start < STARTS; start += 1) {
  const other = new Neap({ dataDir });
  starts.push(await milliseconds(() => other.health()));
  await other.close();
}
console.log(`p50 of ${STARTS} starts up to the first answer: ${median(starts).toFixed(0)} ms`);
rmSync(dataDir, { recursive: true });
