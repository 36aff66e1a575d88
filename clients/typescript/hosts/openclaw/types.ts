/** Compared by the compiler: the engine and the plugin are what OpenClaw's own types say. */

import type { OpenClawPluginApi } from "openclaw/plugin-sdk/core";

import plugin, { contextEngine, type ContextEngineOptions } from "../../dist/openclaw/index.js";

type Factory = Parameters<OpenClawPluginApi["registerContextEngine"]>[1];
type Engine = Awaited<ReturnType<Factory>>;
type Message = Parameters<Engine["assemble"]>[0]["messages"][number];

export const engineOf = (options: ContextEngineOptions): Engine => contextEngine<Message>(options);
export const register: (api: OpenClawPluginApi) => void = (api) => plugin.register<Message>(api);
