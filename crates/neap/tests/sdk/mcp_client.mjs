// The protocol's own TypeScript library as a client, over both transports. Prints `all hold` at the end.
//
// Usage: mcp_client.mjs FOLDER-OF-THE-LIBRARY NEAP URL
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [library, neap, url] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${library}/dist/esm/${name}.js`));
const { Client } = await load("client/index");
const { StdioClientTransport } = await load("client/stdio");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp");
const { ElicitRequestSchema } = await load("types");

async function check(transport, session) {
  const client = new Client({ name: "library", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { confirm: true } }));
  await client.connect(transport);
  const call = (name, args) => client.callTool({ name, arguments: { session, ...args } });
  const { tools } = await client.listTools();
  assert.equal(tools.length, 20);
  assert.ok(tools.every((tool) => tool.outputSchema && tool.title));
  // The library holds what comes against the schema that was listed.
  const opened = await call("open_effort", { name: "Auth bug" });
  assert.deepEqual(opened.structuredContent, { status: "opened", effort_id: "auth-bug" });
  const said = { user: "users get a 401 an hour after login", assistant: "Rotate the refresh token." };
  assert.equal((await call("record_turn", said)).structuredContent.effort, "auth-bug");
  assert.ok((await call("open_effort", { name: "Auth bug" })).isError);
  const kept = await call("remember", { kind: "fact", text: `The code of ${session} is 4711` });
  const forgotten = await call("forget", { id: kept.structuredContent.id });
  assert.equal(forgotten.structuredContent.status, "forgotten");
  const context = await call("get_context", { query: "refresh token" });
  assert.ok(context.structuredContent.text.includes("Rotate the refresh token."), JSON.stringify(context));
  const read = await client.readResource({ uri: `neap://session/${session}/effort/auth-bug/raw` });
  assert.ok(read.contents[0].text.includes("401"));
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((prompt) => prompt.name), ["recap", "handoff", "open-effort", "review-decisions"]);
  if (transport.terminateSession) {
    // It throws unless the server ends the session, or does not allow that.
    assert.ok(transport.sessionId);
    await transport.terminateSession();
    assert.equal(transport.sessionId, undefined);
  }
  await client.close();
}

await check(new StdioClientTransport({ command: neap, args: ["mcp"], env: process.env }), "js-stdio");
await check(new StreamableHTTPClientTransport(new URL(url)), "js-http");
console.log("all hold");
