/** What the client is for, against the program. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import type { Event } from "neap";

import { all, folderFor, start } from "./support.js";

test("turns are recorded once for an id", async (t) => {
  const { neap } = await start(t);
  const said = ["auth", "users get a 401", "The token expires."] as const;
  for (const _ of ["first", "again"]) {
    assert.equal((await neap.recordTurn(...said, { author: "person", turn: "host-1" })).turn, 1);
  }
  assert.equal((await neap.recordTurn(...said)).turn, 2);
  assert.equal((await neap.showSession("auth")).turns, 2);
  const explained = await neap.explainTurn("auth", "latest");
  assert.deepEqual([explained.turn, explained.reply], [2, "The token expires."]);
});

test("messages are recorded once for a key", async (t) => {
  const { neap } = await start(t);
  await neap.putSession("auth");
  for (const recorded of [2, 0]) {
    const answer = await neap.appendMessages(
      "auth",
      [
        { role: "user", content: "is 8443 right?" },
        { role: "assistant", content: "Yes." },
      ],
      { author: "person", key: "one" },
    );
    assert.equal(answer.recorded, recorded);
  }
  assert.equal((await neap.showOriginal("auth", "t1")).text, "user: is 8443 right?\nassistant: Yes.\n");
  await neap.appendMessages("auth", [{ role: "user", content: "and 8080?" }]);
  const exchange = (await neap.listLog("auth", "ambient")).items[0];
  assert.deepEqual(
    exchange?.messages.map((message) => message.content),
    ["is 8443 right?", "Yes."],
  );
});

test("a context keeps its budget", async (t) => {
  const { neap } = await start(t);
  for (let number = 0; number < 8; number += 1) {
    const reply = `It is for service ${number}. `.repeat(20);
    await neap.recordTurn("auth", `what is port ${8000 + number} for?`, reply);
  }
  const page = await neap.buildContext("auth", { question: "what is port 8003 for?", budget: 600 });
  assert.ok(page.tokens > 0 && page.tokens <= 600 && page.budget === 600);
  assert.match(page.text, /8003/);
});

test("a list is read page after page", async (t) => {
  const { neap } = await start(t);
  for (let number = 0; number < 7; number += 1) await neap.recordTurn("auth", `message ${number}`, "reply");
  const turns = await all(neap.each((cursor) => neap.listTurns("auth", { limit: 2, cursor })));
  assert.deepEqual(
    turns.map((turn) => turn.turn),
    [7, 6, 5, 4, 3, 2, 1],
  );
  const rows = await all(neap.each((cursor) => neap.series("auth", { limit: 3, cursor })));
  assert.equal(rows.length, 7);
});

test("efforts open, conclude and expand", async (t) => {
  const { neap } = await start(t);
  await neap.putSession("auth", { set: { context_tokens_max: "16000" } });
  assert.equal((await neap.openEffort("auth", "auth bug")).refusal, null);
  for (let number = 0; number < 3; number += 1) {
    await neap.recordTurn("auth", `the refresh token ${number} expired after 3600 seconds`, "Noted.");
  }
  await neap.actOnEffort("auth", "auth-bug", "conclude");
  assert.equal((await neap.showEffort("auth", "auth-bug")).status, "concluded");
  assert.deepEqual(
    (await neap.listEfforts("auth")).items.map((effort) => effort.id),
    ["auth-bug"],
  );
  const receipt = (await neap.listReceipts("auth")).items[0];
  assert.deepEqual([receipt?.of, receipt?.kind], ["auth-bug", "conclusion"]);
  await neap.actOnEffort("auth", "auth-bug", "expand");
  assert.ok((await neap.showEffort("auth", "auth-bug")).expanded);
});

test("an original is read by its handle", async (t) => {
  const { neap } = await start(t);
  await neap.recordTurn("auth", "a message of some length", "reply");
  assert.equal((await neap.showOriginal("auth", "t1.0", { offset: 2, limit: 7 })).text, "message");
});

test("search finds, and says why not", async (t) => {
  const { neap } = await start(t);
  await neap.recordTurn("auth", "the refresh token expired", "I see.", { author: "person" });
  const found = await neap.search("refresh token", { session: "auth", in: "raw", max: 5 });
  assert.equal(found.items[0]?.text, "the refresh token expired");
  assert.equal((await neap.expect("refresh token", "auth/t1")).outcome.stage, "found");
  assert.equal((await neap.expect("refresh token", "auth/t9")).outcome.stage, "not_stored");
});

test("memories are kept, changed and erased", async (t) => {
  const { neap } = await start(t);
  const fact = ["Staging runs PostgreSQL 16", { tags: ["db"], pinned: true, key: "one" }] as const;
  const { id } = await neap.remember(fact[0], { ...fact[1], tags: ["db"] });
  assert.equal((await neap.remember(fact[0], { ...fact[1], tags: ["db"] })).status, "known");
  assert.deepEqual(
    (await neap.recall("staging")).items.map((hit) => hit.id),
    [id],
  );
  assert.equal((await neap.expectMemory(id, "staging")).outcome.stage, "found");
  assert.equal((await neap.listMemories({ kind: "fact", tag: "db" })).items[0]?.id, id);
  await neap.editMemory(id, { tags: null, domain: "infrastructure" });
  const memory = await neap.showMemory(id);
  assert.deepEqual([memory.domain, memory.tags], ["infrastructure", undefined]);
  assert.equal((await neap.memoryHistory(id)).items.length, 2);
  await neap.actOnMemory(id, "undo");
  assert.deepEqual((await neap.showMemory(id)).tags, ["db"]);
  assert.equal((await neap.explainRecall("what runs on staging?")).candidates[0]?.id, id);
  assert.ok((await neap.eraseMemory(id, id)).erased);
  assert.deepEqual((await neap.listMemories()).items, []);
});

test("a decision has a form of its own", async (t) => {
  const { neap } = await start(t);
  const { id } = await neap.remember({
    kind: "decision",
    description: "Use SQLite",
    stakes: "high",
    confidence: 0.9,
  });
  assert.equal((await neap.reviewMemory(id, "success", { notes: "It holds." })).memory.status, "reviewed");
  const trial = await neap.tryPattern({ by: "words", of: "delete production" }, "please delete production");
  assert.ok(trial.found);
});

test("memories move to another folder", async (t) => {
  const { neap } = await start(t);
  for (const text of ["Staging runs PostgreSQL 16", "Tim prefers Celsius"]) await neap.remember(text);
  const lines = await all(neap.exportMemories());
  const { neap: other } = await start(t, { dataDir: join(folderFor(t), "other") });
  assert.equal((await other.importMemories(lines, "laptop")).new, 2);
  assert.equal((await other.listMemories()).items.length, 2);
});

test("an export has every event, also with odd line ends", async (t) => {
  const { neap } = await start(t);
  const message = "one\u2028two\u0085three\nfour\r\nfive \u{1f30a}";
  await neap.recordTurn("auth", message, "reply".repeat(30_000));
  const exported = await all(neap.exportSession("auth"));
  const listed = await all(neap.each((cursor) => neap.listEvents("auth", { cursor })));
  const seqs = (events: Event[]): number[] => events.map((event) => event.seq);
  assert.deepEqual(seqs(exported), seqs(listed));
  assert.ok(JSON.stringify(exported).includes(JSON.stringify(message)));
});

test("names arrive whole", async (t) => {
  const { neap } = await start(t);
  const turns = ["a/b", "a?b#c", "100%2F", "a+b c", "..", "\u{1f30a}"];
  for (const [at, name] of ["a b", "a/b", "\u00fcn\u00ef", "a?b#c", "100%", "a+b"].entries()) {
    const turn = turns[at] ?? "";
    const first = await neap.recordTurn(name, "hello", "hi", { turn });
    assert.equal((await neap.recordTurn(name, "hello", "hi", { turn })).turn, first.turn);
    assert.equal((await neap.showSession(name)).turns, first.turn);
  }
});
