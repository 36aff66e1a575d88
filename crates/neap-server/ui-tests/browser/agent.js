// An agent that runs the model itself and has Neap's hooks, as Claude Code calls them.

import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM } from "./neap.js";

/** A hook gives up after a second, for the agent's sake; on a busy machine a test would then wait for the retry. */
const LIMIT_MS = "30000";

/**
 * @param {string} folder of the store
 * @param {string} session the agent's own name of the conversation
 */
export function agent(folder, session) {
  const transcripts = join(folder, "transcripts");
  const transcript = join(transcripts, `${session}.jsonl`);
  let records = 0;
  mkdirSync(transcripts, { recursive: true });

  /** @param {string} event @param {Record<string, string>} more */
  function hook(event, more = {}) {
    const input = JSON.stringify({ hook_event_name: event, session_id: session, transcript_path: transcript, cwd: folder, ...more });
    execFileSync(PROGRAM, ["--data-dir", folder, "hook", "claude-code"], { input, env: { ...process.env, NEAP_HOOK_LIMIT_MS: LIMIT_MS }, stdio: ["pipe", "ignore", "inherit"] });
  }

  /** @param {string} role @param {string} text @param {Record<string, string>} more */
  function write(role, text, more = {}) {
    records += 1;
    const message = { role, id: `m${records}`, content: [{ type: "text", text }] };
    appendFileSync(transcript, `${JSON.stringify({ type: role, uuid: `${session}-${records}`, timestamp: new Date().toISOString(), message, ...more })}\n`);
  }

  return {
    /** The hook is told before the agent writes it down. @param {string} text */
    asks(text) {
      const prompt = `p${records + 1}`;
      hook("UserPromptSubmit", { prompt: text, prompt_id: prompt });
      write("user", text, { promptId: prompt });
    },
    /** @param {string} text */
    answers(text) {
      write("assistant", text);
      hook("Stop");
    },
  };
}
