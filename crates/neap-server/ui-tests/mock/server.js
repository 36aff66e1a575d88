// A server with the API's forms and made-up data, for tests of the page and for work on it: node server.js story 8700

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { answer } from "./routes.js";
import { World } from "./world.js";

const ASSETS = new URL("../../src/ui/assets/", import.meta.url).pathname;
const TYPES = new Map([[".html", "text/html"], [".js", "text/javascript"], [".css", "text/css"], [".svg", "image/svg+xml"]]);
const HEADERS = {
  "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

/**
 * @param {"story" | "empty" | "large" | "hostile"} data
 * @param {number} [port]
 */
export async function startMock(data, port = 0) {
  const world = new World(data);
  const server = createServer((request, response) => {
    handle(world, request, response).catch((error) => {
      response.writeHead(500, HEADERS).end(String(error?.stack));
    });
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  const stop = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${address.port}/ui/`, world, stop };
}

/** @param {World} world @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response */
async function handle(world, request, response) {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  if (url.pathname === "/api/v1/events") {
    response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
    world.watch(response);
    return;
  }
  if (url.pathname.startsWith("/api/v1/")) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { status, body, lines } = answer(world, request.method ?? "GET", url, text === "" ? null : JSON.parse(text));
    const type = lines ? "application/x-ndjson" : status < 400 ? "application/json" : "application/problem+json";
    response.writeHead(status, { ...HEADERS, "content-type": type }).end(lines ?? JSON.stringify(body));
    return;
  }
  const path = normalize(url.pathname).replace(/^\/ui\/?/u, "");
  try {
    const name = path === "" ? "index.html" : path;
    const content = await readFile(join(ASSETS, name));
    response.writeHead(200, { ...HEADERS, "content-type": TYPES.get(extname(name)) ?? "application/octet-stream" }).end(content);
  } catch {
    response.writeHead(404, HEADERS).end();
  }
}

if (process.argv[1]?.endsWith("mock/server.js")) {
  const data = /** @type {"story"} */ (process.argv[2] ?? "story");
  const mock = await startMock(data, Number(process.argv[3] ?? 8700));
  process.stdout.write(`${mock.url}\n`);
}
