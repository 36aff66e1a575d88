/** Records the turns of one session, each once. */

import type { Neap } from "../client.js";
import { NotFound } from "../errors.js";
import type { Author } from "../forms/index.js";
import type { HostTurn, RecordedMessage } from "./turn.js";

/** What one request of the API takes. */
const MESSAGES_MAX = 256;
const CHARS_MAX = 500_000;

export class Recorder {
  readonly #recorded = new Set<string>();
  #stored: number | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly neap: Neap,
    private readonly session: string,
    private readonly author: Author | undefined,
  ) {}

  /** Whether any of them was new, in this process. */
  async record(turns: readonly HostTurn[]): Promise<boolean> {
    const recording = this.#last.then(() => this.#record(turns));
    this.#last = recording.catch(() => undefined);
    return recording;
  }

  /** How many turns the session has. */
  async stored(): Promise<number> {
    this.#stored ??= await this.neap.showSession(this.session).then(
      (session) => session.turns,
      (error: unknown) => {
        if (error instanceof NotFound) return 0;
        throw error;
      },
    );
    return this.#stored;
  }

  async #record(turns: readonly HostTurn[]): Promise<boolean> {
    let isNew = false;
    for (const turn of turns) {
      if (turn.messages.length === 0 || this.#recorded.has(turn.key)) continue;
      for (const [at, messages] of parts(turn.messages).entries()) {
        const key = at === 0 ? turn.key : `${turn.key}.${at}`;
        const { author } = this;
        const answer = await this.neap.appendMessages(this.session, messages, { author, key });
        this.#stored = Math.max(this.#stored ?? 0, answer.turn);
        isNew ||= answer.recorded > 0;
      }
      this.#recorded.add(turn.key);
    }
    return isNew;
  }
}

/** A turn in parts of which each fits into a request; a longer text is recorded in pieces. */
function parts(messages: readonly RecordedMessage[]): RecordedMessage[][] {
  const found: RecordedMessage[][] = [[]];
  let chars = 0;
  for (const message of messages.flatMap(pieces)) {
    const size = JSON.stringify(message).length;
    const last = found.at(-1);
    if (last === undefined || last.length === MESSAGES_MAX || (last.length > 0 && chars + size > CHARS_MAX)) {
      found.push([message]);
      chars = size;
    } else {
      last.push(message);
      chars += size;
    }
  }
  return found;
}

function pieces(message: RecordedMessage): RecordedMessage[] {
  if (message.content.length <= CHARS_MAX) return [message];
  const found: RecordedMessage[] = [];
  for (let at = 0; at < message.content.length; at += CHARS_MAX) {
    const content = message.content.slice(at, at + CHARS_MAX).toWellFormed();
    found.push(at === 0 ? { ...message, content } : { role: message.role, content });
  }
  return found;
}
