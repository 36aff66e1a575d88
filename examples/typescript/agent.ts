/**
 * An agent with a tool, whose conversation goes on from run to run although it keeps no history of its own:
 *
 *     npm install neap ai @ai-sdk/provider && npx tsx agent.ts "Staging runs PostgreSQL 16" "which PostgreSQL runs on staging?"
 */

import process from "node:process";

import { generateText, isStepCount, jsonSchema, tool, wrapLanguageModel } from "ai";
import { Neap } from "neap";
import { neapMiddleware } from "neap/ai-sdk";

import { scriptedModel } from "./model.js";

const neap = await Neap.connect();
const model = wrapLanguageModel({
  // Any model of the AI SDK; this one needs no key.
  model: scriptedModel(),
  middleware: neapMiddleware({ neap, session: "example", budget: 8000, author: "person" }),
});
const tools = {
  status: tool({
    description: "Whether a machine answers",
    inputSchema: jsonSchema<{ machine: string }>({
      type: "object",
      properties: { machine: { type: "string" } },
      required: ["machine"],
    }),
    execute: async ({ machine }) => `${machine} answers`,
  }),
};

for (const prompt of process.argv.slice(2)) {
  const { text } = await generateText({ model, system: "You keep servers.", prompt, tools, stopWhen: isStepCount(5) });
  console.log(`> ${prompt}\n${text}\n`);
}
const { turns } = await neap.showSession("example");
console.log(`${turns} turns are recorded`);
await neap.close();
