/** The plugin for OpenClaw: `openclaw plugins install neap`, then `plugins.slots.contextEngine: "neap"`. */

import { Neap } from "../client.js";
import { NeapError } from "../errors.js";
import type { Author } from "../forms/index.js";
import type { AgentMessage, ContextEngine, PluginApi } from "./contract.js";
import { contextEngine } from "./engine.js";

export type { AgentMessage, ContextEngine } from "./contract.js";
export { contextEngine, type ContextEngineOptions } from "./engine.js";

export default {
  id: "neap",
  name: "Neap",
  description: "Keeps a context within its budget and the whole conversation within reach",
  kind: "context-engine" as const,

  register<Message extends AgentMessage>(api: PluginApi<Message>): void {
    const config = api.pluginConfig ?? {};
    let engine: ContextEngine<Message> | undefined;
    api.registerContextEngine("neap", () => {
      // The first run starts the server; it ends with OpenClaw.
      engine ??= contextEngine<Message>({
        neap: new Neap({
          program: text(config, "program"),
          dataDir: text(config, "dataDir"),
          agent: text(config, "agent"),
          baseUrl: text(config, "baseUrl"),
          key: text(config, "key"),
        }),
        budget: budgetOf(config),
        author: authorOf(config),
      });
      return engine;
    });
  },
};

function text(config: Record<string, unknown>, name: string): string | undefined {
  const value = config[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function budgetOf(config: Record<string, unknown>): number | undefined {
  const value = config["budget"];
  return typeof value === "number" ? value : undefined;
}

function authorOf(config: Record<string, unknown>): Author | undefined {
  const value = text(config, "author");
  if (value === undefined || value === "person" || value === "model") return value;
  throw new NeapError(`author is ${value}`, "it is person or model");
}
