// The words of a made-up session in which an agent works on a service, effort after effort.

/** @typedef {{ name: string, asks: string[], tool: string, result: string, replies: string[], summary: string }} Chapter */

/** @type {Chapter[]} */
const CHAPTERS = [
  {
    name: "refresh token",
    asks: ["Users get a 401 about an hour after they log in. Please find out why.", "Can you check the clock skew between the two hosts?", "Does it also happen with the mobile client?", "Write a test that fails first.", "Good. That is done, thanks."],
    tool: "read_file",
    result: "pub const REFRESH_TTL_SECONDS: u64 = 3_600;\n\nfn is_expired(token: &Token, now: u64) -> bool {\n    token.issued_at + REFRESH_TTL_SECONDS <= now\n}",
    replies: ["The refresh token lives 3,600 s, as long as the access token, so both end together. I would give it 30 days.", "The skew is 40 ms: not the cause.", "Yes: the mobile client uses the same endpoint, POST /v2/token on port 8443.", "tests/refresh.rs fails on main with `expected 200, got 401` and passes with the change.", "Concluded: REFRESH_TTL_SECONDS is 2,592,000 and the access token stays at 3,600."],
    summary: "Users got a 401 after an hour because REFRESH_TTL_SECONDS was 3,600, as long as the access token. It is 2,592,000 now; POST /v2/token on port 8443 is unchanged. tests/refresh.rs covers it. Open question: should old sessions be revoked?",
  },
  {
    name: "slow search",
    asks: ["The search page takes 4.2 s for the customer Acme. Why?", "Show me the query plan.", "Would a partial index do?", "How large is the index?", "Deploy it on staging first."],
    tool: "run_command",
    result: "Seq Scan on documents  (cost=0.00..184223.10 rows=412 width=96) (actual time=12.4..4108.7 rows=398 loops=1)\n  Filter: (tenant_id = 42 AND body ~~ '%invoice%')\n  Rows Removed by Filter: 2,918,554",
    replies: ["A sequential scan over 2,918,952 rows: the filter on tenant_id has no index.", "The plan is above: 4,108 ms of 4,120 ms are in the scan.", "Yes. `CREATE INDEX documents_tenant ON documents (tenant_id) WHERE deleted_at IS NULL`.", "61 MB; the table has 3.4 GB.", "Staging answers in 38 ms. I did not touch production."],
    summary: "The search took 4.2 s because documents.tenant_id had no index (sequential scan, 2,918,952 rows). The partial index documents_tenant (61 MB) brings it to 38 ms on staging. It must not be created in production without CONCURRENTLY.",
  },
  {
    name: "invoice rounding",
    asks: ["Invoice 20417 is off by one cent.", "Where do we round?", "What does the tax office require?", "Please fix it for new invoices only.", "Is there an invoice that would change?"],
    tool: "search_code",
    result: "src/billing/total.rs:88:    let tax = (net * rate).round() as i64;\nsrc/billing/line.rs:41:    let tax = (line.net * rate).round() as i64;",
    replies: ["Tax is rounded per line in line.rs:41 and again over the sum in total.rs:88.", "In both; the sum of rounded lines differs from the rounded sum by up to n/2 cents.", "Rounding once, over the sum per rate (§ 14 UStG).", "Done: total.rs rounds once per rate from 2026-12-01.", "Yes, 212 of 48,001; they keep their amounts."],
    summary: "Invoice 20417 was off by one cent: tax was rounded per line (line.rs:41) and over the sum (total.rs:88). From 2026-12-01 it is rounded once per rate. 212 of 48,001 older invoices would differ; they keep their amounts.",
  },
  {
    name: "flaky upload test",
    asks: ["uploads::resumes_after_a_cut fails one time in twenty.", "Is it the test or the code?", "Then fix the code.", "Run it a thousand times.", "Perfect, we are done here."],
    tool: "run_command",
    result: "test uploads::resumes_after_a_cut ... FAILED\n  left: 4194304\n right: 4190208\n  offset was 4096 bytes short",
    replies: ["The offset is read before the last block is flushed: 4,096 bytes short.", "The code: a client that resumes there sends one block twice.", "flush() now comes before offset(); Upload::resume asserts it.", "1,000 of 1,000 runs pass, in 212 s.", "Concluded."],
    summary: "uploads::resumes_after_a_cut failed 1 in 20: the offset was read before the last block of 4,096 bytes was flushed. Fixed in Upload::resume; 1,000 runs pass.",
  },
  {
    name: "postgres upgrade",
    asks: ["Plan the upgrade of staging to PostgreSQL 17.", "Which extensions do we use?", "How long is the outage?", "Write the runbook.", "Let us do it on Thursday."],
    tool: "run_command",
    result: "    extname     | extversion\n----------------+------------\n plpgsql        | 1.0\n pg_trgm        | 1.6\n vector         | 0.8.0",
    replies: ["pg_upgrade --link works; vector 0.8.0 supports 17.", "plpgsql, pg_trgm and vector.", "About 90 s with --link, after a rehearsal of 84 s.", "docs/runbooks/postgres-17.md has 11 steps, with the way back.", "Noted: Thursday 2026-12-03, 07:00 UTC."],
    summary: "Staging goes to PostgreSQL 17 on 2026-12-03 at 07:00 UTC with pg_upgrade --link: about 90 s of outage (rehearsed: 84 s). Extensions: plpgsql, pg_trgm, vector 0.8.0. The runbook is docs/runbooks/postgres-17.md.",
  },
];

const SMALL_TALK = [
  ["Good morning! What did we leave open yesterday?", "Two things: whether old sessions should be revoked, and the upgrade on Thursday."],
  ["Which time zone do you use in logs?", "UTC, as you asked."],
];

/** @param {number} index of the effort */
export function chapter(index) {
  const found = /** @type {Chapter} */ (CHAPTERS[index % CHAPTERS.length]);
  const round = Math.floor(index / CHAPTERS.length);
  const name = round === 0 ? found.name : `${found.name} ${round + 1}`;
  return { ...found, name, id: name.replaceAll(" ", "-") };
}

/** @param {number} turn */
export function smallTalk(turn) {
  const [ask, reply] = /** @type {string[]} */ (SMALL_TALK[turn % SMALL_TALK.length]);
  return { ask: String(ask), reply: String(reply) };
}
