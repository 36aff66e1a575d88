// Memories that can be edited, undone, retired and forgotten, as the server does it.

const DAY = 86_400_000;

/** @param {string} author */
const trustOf = (author) => (author === "person" ? "high" : author === "model" ? "medium" : "low");

/**
 * @param {string} id @param {Record<string, any>} body @param {string} status @param {Partial<Api.Memory> & { author?: string }} [more]
 * @returns {Api.Memory}
 */
function memory(id, body, status, { author = "person", ...more } = {}) {
  const number = Number(id.slice(1));
  return {
    id, body: { kind: "fact", ...body }, status, provenance: { author, session: "auth-service", turn: number * 3, trust: trustOf(author) },
    created: 1_763_500_000_000 + number * DAY / 4, updated: 1_763_500_000_000 + number * DAY / 3, ...more,
  };
}

/** @returns {Api.Memory[]} */
function storyMemories() {
  return [
    memory("f3", { subject: "staging", content: "Staging runs PostgreSQL 15", confidence: 0.7, superseded_by: "f7" }, "superseded"),
    memory("f7", { subject: "staging", content: "Staging runs PostgreSQL 16", confidence: 0.8, confirmations: 2 }, "confirmed", { tags: ["db"], domain: "infrastructure", supersedes: ["f3"] }),
    memory("f9", { subject: "gateway", content: "The gateway listens on port 8443", confidence: 0.7, confirmations: 1 }, "confirmed", { author: "model" }),
    memory("f12", { subject: "billing", content: "Invoices are rounded once per tax rate since 2026-12-01", confidence: 0.9 }, "core", { tags: ["tax"], domain: "billing" }),
    memory("d2", { kind: "decision", description: "Keep sessions in PostgreSQL, not in Redis", reasons: [{ kind: "analysis", text: "one system less to restore" }, { kind: "evidence", text: "the load test stayed under 9 ms" }], confidence: 0.8, stakes: "medium", outcome: "success", category: "architecture", alternatives: ["Redis", "signed cookies"], rests_on: ["f7"] }, "reviewed", { author: "model" }),
    memory("d5", { kind: "decision", description: "Upgrade staging to PostgreSQL 17 on 2026-12-03", reasons: [], confidence: 0.6, stakes: "high", outcome: "pending", rests_on: ["f7"] }, "pending", { shaken_by: ["f3"] }),
    memory("p1", { kind: "procedure", name: "Release", core_patterns: ["release", "deploy"], steps: ["tag", "build", "deploy to staging", "wait 30 min", "deploy to production"], activations: 6, successes: 5, failures: 1 }, "effective", { author: "model" }),
    memory("e4", { kind: "episode", summary: "The search page was slow for Acme because of a missing index", outcome: "38 ms on staging", lessons: ["look at the plan first"], minutes: 42 }, "summarized", { author: "import" }),
    memory("c1", { kind: "censor", pattern: { by: "words", of: "migration production" }, side: "tool_call", action: "refuse", reason: "ask a person before a migration runs on production", triggers: 3, false_positives: 0 }, "active", { pinned: true }),
    memory("f14", { subject: "person", content: "Prefers short answers and figures with units", confidence: 0.9 }, "core", { pinned: true }),
    memory("f15", { subject: "mobile client", content: "The mobile client uses POST /v2/token", confidence: 0.5 }, "new", { author: "tool", forget_asked: true }),
  ];
}

export class Memories {
  /** @param {"story" | "empty"} data @param {Api.Memory[]} [more] */
  constructor(data, more = []) {
    /** @type {Map<string, Api.Memory>} */
    this.current = new Map([...(data === "empty" ? [] : storyMemories()), ...more].map((entry) => [entry.id, entry]));
    /** @type {Map<string, Api.Version[]>} */
    this.versions = new Map();
    for (const entry of this.current.values()) {
      this.versions.set(entry.id, [{ change: "remembered", seq: Number(entry.id.slice(1)), at: entry.created, memory: structuredClone(entry) }]);
    }
    this.seq = 100;
  }

  /** @param {URLSearchParams} query */
  list(query) {
    const wants = (/** @type {string} */ name, /** @type {string} */ value) => !query.get(name) || query.get(name) === value;
    const q = query.get("q")?.toLowerCase();
    return [...this.current.values()].sort((a, b) => b.created - a.created).filter((entry) =>
      wants("kind", entry.body.kind) && wants("status", entry.status) && wants("author", entry.provenance.author) &&
      wants("trust", entry.provenance.trust) && (!q || JSON.stringify(entry.body).toLowerCase().includes(q)));
  }

  /** @param {string} id */
  chain(id) {
    const found = this.current.get(id);
    const older = [...this.current.values()].filter((entry) => entry.body.superseded_by === id);
    const newer = found?.body.superseded_by ? this.current.get(found.body.superseded_by) : undefined;
    return [...older, found, newer].filter((entry) => entry !== undefined);
  }

  /** @param {string} id */
  erasure(id) {
    const takes = [...this.current.values()].filter((entry) => entry.body.rests_on?.includes(id)).map((entry) => ({ id: entry.id, how: "rests_on" }));
    return { id, versions: this.versions.get(id)?.length ?? 0, memory: this.current.get(id), erased: false, takes };
  }

  /** @param {string} id @param {string} change @param {(memory: Api.Memory) => void} edit */
  write(id, change, edit) {
    const next = structuredClone(/** @type {Api.Memory} */ (this.current.get(id)));
    edit(next);
    next.updated = Date.now();
    this.current.set(id, next);
    this.versions.get(id)?.push({ change, seq: (this.seq += 1), at: next.updated, memory: structuredClone(next) });
    return { id, status: change, note: "", memory: next };
  }

  /** @param {string} id @param {any} draft */
  edit(id, draft) {
    return this.write(id, "edited", (next) => {
      Object.assign(next.body, draft.body ?? {});
      const { body: _, ...rest } = draft;
      Object.assign(next, rest);
    });
  }

  /** @param {string} id */
  undo(id) {
    const versions = this.versions.get(id) ?? [];
    const before = versions.at(-2);
    if (!before) return null;
    return this.write(id, "undone", (next) => {
      for (const name of Object.keys(next)) delete /** @type {any} */ (next)[name];
      Object.assign(next, structuredClone(before.memory));
    });
  }

  /** @param {string} id */
  erase(id) {
    const events = this.versions.get(id)?.length ?? 0;
    this.current.delete(id);
    this.versions.delete(id);
    return { id, events, erased: true };
  }

  /** @param {string} question */
  candidates(question) {
    const terms = question.toLowerCase().split(/\W+/u).filter((term) => term.length > 3);
    const rows = [...this.current.values()].filter((entry) => entry.status !== "superseded").map((entry, index) => {
      const text = JSON.stringify(entry.body).toLowerCase();
      const found = terms.filter((term) => text.includes(term)).length;
      const similarity = Math.min(1, found / Math.max(1, terms.length) + 0.08 * ((index * 7) % 5));
      const parts = { similarity, priority: entry.pinned ? 1 : 0.6, recency: 0.3 + ((index * 3) % 7) / 10, outcome: 0.5, usage: ((index * 5) % 10) / 10, confidence: entry.body.confidence ?? 0.5 };
      const score = parts.similarity / 2 + (parts.priority + parts.recency) * 0.15 + parts.outcome * 0.1 + (parts.usage + parts.confidence) * 0.05;
      return { id: entry.id, score, ...parts, loaded: score > 0.4, why: score > 0.4 ? "loaded as a summary" : "below the least score of 0.40", text: entry.body.content ?? entry.body.description ?? entry.body.name ?? entry.body.summary ?? entry.body.reason };
    });
    return rows.sort((a, b) => b.score - a.score);
  }
}
