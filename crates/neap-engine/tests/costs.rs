//! What the requests of a conversation cost, and what they would have cost untouched, against a provider whose cache is
//! simulated token by token.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::sync::Arc;

use neap_core::base::tokens::Tokens;
use neap_core::client::{ProviderReply, RequestTotals, TokenPrices, TokenUsage};
use neap_engine::{Engine, IncomingRequest};
use neap_model::bpe::counter_for;
use neap_store::{MemStore, Store};
use serde_json::{Value, json};

use crate::ingest::run;

/// Three dollars per million, as a model of Anthropic's.
const PRICES: TokenPrices =
    TokenPrices { input: 3_000_000, cache_read: 300_000, cache_write: 3_750_000, output: 15_000_000 };
const BUDGET: Tokens = Tokens(4_000);
const OUTPUT: u64 = 20;

/// A provider's cache: what it read last, piece by piece.
#[derive(Default)]
struct Cache {
    last: Vec<String>,
    nanodollars: u64,
}

impl Cache {
    /// Reads a request. Pieces that the one before had at the same place are cached, all others are written.
    fn read(&mut self, body: &str) -> TokenUsage {
        let body: Value = serde_json::from_str(body).unwrap();
        let fixed = json!([body["system"], body["tools"]]).to_string();
        let items = body["messages"].as_array().unwrap().iter().map(Value::to_string);
        let pieces: Vec<String> = std::iter::once(fixed).chain(items).collect();
        let counter = counter_for("o200k_base");
        let count = |pieces: &[String]| pieces.iter().map(|piece| counter.count(piece).0).sum::<u64>();
        let same = pieces.iter().zip(&self.last).take_while(|(now, before)| now == before).count();
        let (input, cached) = (count(&pieces), count(&pieces[..same]));
        self.last = pieces;
        self.nanodollars += (cached * 300 + (input - cached) * 3_750) + OUTPUT * 15_000;
        let [input, cached, output] = [input, cached, OUTPUT].map(Tokens);
        TokenUsage { input, cached, cache_written: input.saturating_sub(cached), output }
    }
}

struct Talk {
    engine: Engine,
    history: Vec<Value>,
    turns: usize,
    /// What the provider read, and what it would have read.
    sent: Cache,
    untouched: Cache,
    prices: Option<TokenPrices>,
    reports_usage: bool,
}

impl Talk {
    fn new(prices: Option<TokenPrices>, reports_usage: bool) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemStore::new());
        let (sent, untouched) = (Cache::default(), Cache::default());
        Self {
            engine: Engine::builder(store).build(),
            history: Vec::new(),
            turns: 0,
            sent,
            untouched,
            prices,
            reports_usage,
        }
    }

    /// Says something in each of so many turns; gives how often the history was cut.
    async fn goes_on(&mut self, turns: usize) -> u64 {
        let headers = [("x-neap-session", "desk"), ("x-api-key", "k-4f9aT7bQ2mX8")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut epoch = 0;
        for _ in 0..turns {
            self.turns += 1;
            let text =
                format!("Step {}: I changed a part as the notes say. {}", self.turns, "And more. ".repeat(20));
            self.history.push(json!({"role": "user", "content": text}));
            let body = json!({"model": "m", "stream": true, "system": "You are careful. ".repeat(20),
                "tools": [{"name": "run", "description": "Runs a command. ".repeat(20)}], "messages": self.history});
            let body = body.to_string();
            let incoming = IncomingRequest::new("/v1/messages", &headers, &body, BUDGET);
            let plan = self.engine.ingest(&IncomingRequest { prices: self.prices, ..incoming }).await;
            assert_eq!(plan.fault, None);
            let used = self.sent.read(plan.body.as_ref().unwrap_or(&body));
            self.untouched.read(&body);
            epoch = plan.epoch;
            let text = format!("Noted {}. {}", self.turns, "I keep that in mind. ".repeat(4));
            self.history.push(json!({"role": "assistant", "content": [{"type": "text", "text": text}]}));
            let usage = self.reports_usage.then_some(used);
            let reply = ProviderReply { text, usage, ..ProviderReply::default() };
            self.engine.complete_request(&plan, &reply).await.unwrap();
        }
        epoch
    }

    /// The client replaces all but its newest messages with a summary of its own.
    fn compacts(&mut self) {
        let newest = self.history.split_off(self.history.len() - 4);
        self.history =
            vec![json!({"role": "user", "content": format!("In short: {}", "work was done. ".repeat(40))})];
        self.history.push(json!({"role": "assistant", "content": "I see."}));
        self.history.extend(newest);
    }

    async fn totals(&self) -> RequestTotals {
        let [session] = &self.engine.sessions().await.unwrap()[..] else { panic!("one session") };
        let report = self.engine.attach(&session.session).await.unwrap().report();
        assert_eq!(report.requests, session.requests, "the session's row has the same totals");
        report.requests
    }
}

/// Within so many per cent of each other.
#[track_caller]
fn assert_near(got: u64, want: u64, percent: u64) {
    assert!(got.abs_diff(want) * 100 <= want * percent, "{got} is not within {percent} % of {want}");
}

/// What was sent costs what the provider reported, and what was not sent what its cache would have made of it: while the history
/// grows, when it is cut, and when the client compacts it.
#[test]
fn what_is_saved_is_what_an_exact_cache_would_have_cost() {
    run(async {
        let mut talk = Talk::new(Some(PRICES), true);
        assert!(talk.goes_on(60).await >= 2, "it is cut more than once");
        let grown = talk.totals().await.cost;
        assert_eq!(grown.sent_nanodollars, talk.sent.nanodollars);
        assert_near(grown.untouched_nanodollars, talk.untouched.nanodollars, 2);
        talk.compacts();
        talk.goes_on(40).await;
        let all = talk.totals().await;
        assert_eq!((all.cost.sent_nanodollars, all.priced), (talk.sent.nanodollars, 100));
        assert_near(all.cost.untouched_nanodollars, talk.untouched.nanodollars, 2);
    });
}

/// A provider that reports nothing is taken to cache what the request before had.
#[test]
fn without_a_report_the_cache_is_modelled() {
    run(async {
        let mut talk = Talk::new(Some(PRICES), false);
        talk.goes_on(60).await;
        let cost = talk.totals().await.cost;
        let replies = 60 * OUTPUT * 15_000;
        assert_near(cost.sent_nanodollars, talk.sent.nanodollars - replies, 5);
        assert_near(cost.untouched_nanodollars, talk.untouched.nanodollars - replies, 2);
    });
}

/// As long as nothing is changed nothing is saved, whatever the provider reports; without prices nothing is claimed.
#[test]
fn what_was_not_changed_saves_nothing() {
    run(async {
        let mut talk = Talk::new(Some(PRICES), true);
        assert_eq!(talk.goes_on(10).await, 0, "it fits");
        let cost = talk.totals().await.cost;
        assert_eq!(cost.sent_nanodollars, talk.sent.nanodollars);
        assert_eq!(cost.untouched_nanodollars, cost.sent_nanodollars);
        let mut talk = Talk::new(None, true);
        talk.goes_on(40).await;
        let totals = talk.totals().await;
        assert_eq!((totals.requests, totals.priced, totals.known_cost()), (40, 0, None));
        assert!(totals.changed > 0);
    });
}
