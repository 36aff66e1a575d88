//! Every step that a text goes through costs as much as it is long, and no more: eight kinds of text, from 1 KB to 8 MB.
//!
//! `cargo bench -p neap-engine --bench linear`, or with the beginning of a step's name after `--`. Within one run, from 64 KB on,
//! eight times the text may take eight times as long, and six tenths of that more; a step that takes longer ends the run with its
//! figures. Steps that read only a part of a text take less.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails loudly")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use neap_core::base::handle::Handle;
use neap_core::base::ids::{EffortId, SessionId, Stamp, TurnNo};
use neap_core::base::message::{CountedMessage, Message};
use neap_core::base::prompt;
use neap_core::base::tenant::Tenant;
use neap_core::base::tokens::Tokens;
use neap_core::client::{Chain, TopicTracker};
use neap_core::memory::censor::compile;
use neap_core::memory::stated::stated;
use neap_core::memory::{Author, CensorPattern};
use neap_core::recall::snippet;
use neap_core::session::summary::{SummarizerKind, SummaryRequest};
use neap_core::text::chunks::split_chunks;
use neap_core::text::excerpt::cut_message;
use neap_core::text::receipt::receipt;
use neap_core::text::reference::{each_keyword, folded_words};
use neap_core::text::secrets::mask;
use neap_core::text::terms::{query_terms, terms};
use neap_engine::{Engine, IncomingRequest};
use neap_model::Summarizer;
use neap_model::bpe::counter_for;
use neap_model::caller::Tenancy;
use neap_model::summarize::ExtractiveSummarizer;
use neap_model::wire::request::{CachedCounter, WireRequest};
use neap_sqlite::SqliteStore;
use neap_store::MemStore;
use serde_json::json;

const ENCODING: &str = "o200k_base";
const SIZES: [usize; 6] = [1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22, 1 << 23];
/// Shorter texts are shown but not judged: they take another path (what fits is not cut, and a regular expression has faster
/// ways for a short text).
const JUDGED_FROM: usize = 1 << 16;
/// How much more than its share a longer text may take.
const SLACK: f64 = 1.6;

/// Texts of a kind, of about so many bytes. No two parts of them are alike, so that nothing is found by its being the same.
fn text(kind: &str, bytes: usize) -> String {
    let mut out = String::with_capacity(bytes + 64);
    let mut n = 0_u32;
    while out.len() < bytes {
        n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let pick = (n >> 8) as usize;
        match kind {
            "prose" => {
                let list = ["harbour", "the", "tide", "turns", "at", "nine", "and", "nobody", "should", "leave", "keys"];
                out.push_str(list[pick % list.len()]);
                out.push_str(match pick % 13 {
                    0 => ". Then ",
                    1 => ", ",
                    2 => "\n",
                    _ => " ",
                });
                if pick.is_multiple_of(29) {
                    out.push_str(&format!("token {} of file src/part_{}.rs ", pick % 997, pick % 8_191));
                }
            }
            "cjk" => out.extend(char::from_u32(0x4e00 + (pick % 20_000) as u32)),
            "emoji" => out.extend(char::from_u32(0x1f300 + (pick % 700) as u32)),
            "one word" => out.push_str(&format!("{:x}Q", pick)),
            "json lines" => out.push_str(&format!(
                "{{\"at\":\"2026-01-05T10:00:{:02}Z\",\"level\":\"info\",\"key\":\"{pick}\",\"user\":{{\"id\":{}}},\"took_ms\":{}}}\n",
                pick % 60,
                pick % 1_000,
                pick % 90
            )),
            // One word of what secrets begin with, and lines of names that they are given to: all of it is looked at, nothing found.
            "beginnings" => {
                let list = ["sk-", "tvly-", "glpat-", "token-", "xoxb-", "password=", "secret-", "pypi-AgE", "-----BEGIN-"];
                out.push_str(list[pick % list.len()]);
                out.push_str("abcdefghijklmnop-");
            }
            "names" => {
                let list = ["password=", "token is ", "api_key: ", "\\\"SECRET=", "://", "cookie: ", "login ", "\\nkey=", "bearer "];
                out.push_str(list[pick % list.len()]);
                out.push_str(["your-key-here", "", "secret", "\\n", "$NAME"][pick / 16 % 5]);
            }
            _ => {
                let list = ["((", "]]", "{{", "  ", "\t", "\n", ";;", "::", "=\"", "'", "\\", "...", "--", "@", "://"];
                out.push_str(list[pick % list.len()]);
            }
        }
    }
    out
}

const KINDS: [&str; 8] = ["prose", "cjk", "emoji", "one word", "json lines", "beginnings", "names", "punctuation"];

type Step = (&'static str, Box<dyn Fn(&str)>);

fn steps() -> Vec<Step> {
    let counter = counter_for(ENCODING);
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let step = |name, work: Box<dyn Fn(&str)>| -> Step { (name, work) };
    let request = |path: &'static str, list: &'static str| -> Box<dyn Fn(&str)> {
        Box::new(move |text| {
            let mut body = json!({"model": "m", "stream": true});
            body[list] = json!([{"role": "user", "content": text}]);
            // Nothing is known from before.
            let counts = CachedCounter::new(counter_for(ENCODING));
            let read = WireRequest::read(path, &[], &body.to_string(), &counts).unwrap().unwrap();
            black_box(Chain::from_request(&Tenant::from_key(Some("k")), read.parsed()));
        })
    };
    let said = |text: &str| vec![Message::user(text)];
    vec![
        step("terms", Box::new(|text| drop(black_box(terms(text))))),
        step("terms of a query", Box::new(|text| drop(black_box(query_terms(text))))),
        step("keywords", Box::new(|text| each_keyword(text).for_each(|word| drop(black_box(word))))),
        step("words", Box::new(|text| drop(black_box(folded_words(text))))),
        step("masking", Box::new(|text| drop(black_box(mask(text))))),
        step("masking again", Box::new(|text| drop(black_box(mask(&text.replace("9,", "[masked: token],")))))),
        step("counting", {
            let counter = counter.clone();
            Box::new(move |text| {
                black_box(counter.count(text));
            })
        }),
        step("ids", Box::new(|text| drop(black_box(EffortId::from_name(text))))),
        step("topics", Box::new(|text| drop(black_box(TopicTracker::default().observe_user(text, Stamp(1)))))),
        step("standing", Box::new(|text| drop(black_box(stated(text))))),
        step("censors", {
            let patterns =
                [CensorPattern::Words("heron seven".to_owned()), CensorPattern::Regex("heron-[0-9]+".to_owned())];
            let compiled: Vec<_> = patterns.iter().map(|pattern| compile(pattern).unwrap()).collect();
            Box::new(move |text| {
                let looked_at = neap_core::memory::censor::AnalyzedText::new(text);
                for pattern in &compiled {
                    black_box(pattern.is_match(&looked_at));
                }
            })
        }),
        step("cutting", {
            let counter = counter.clone();
            Box::new(move |text| {
                let said = CountedMessage { message: Message::user(text), tokens: Tokens(text.len() as u64) };
                let handle = Handle::Turn(TurnNo(1));
                black_box(cut_message(counter.as_ref(), &said, &handle, Tokens(2_000), prompt::EXCERPT));
            })
        }),
        step("chunks", Box::new(|text| drop(black_box(split_chunks(text))))),
        step(
            "quoting",
            Box::new(|text| drop(black_box(snippet(text, &["heron".to_owned(), "key".to_owned()], 240)))),
        ),
        step(
            "receipts",
            Box::new(move |text| drop(black_box(receipt(&said(text), "They spoke of 7 keys.", Some("t1"))))),
        ),
        step("summarising", {
            let (summarizer, runtime) = (ExtractiveSummarizer::new(counter.clone()), runtime());
            Box::new(move |text| {
                let (topic, messages) = ("harbour".to_owned(), vec![Message::user(text)]);
                let request = SummaryRequest {
                    topic,
                    summarizer: SummarizerKind::BuiltIn,
                    messages,
                    tokens_max: Tokens(256),
                };
                let _ = black_box(runtime.block_on(summarizer.summarize(&request)));
            })
        }),
        step("reading chat", request("/v1/chat/completions", "messages")),
        step("reading responses", request("/v1/responses", "input")),
        step("reading messages", request("/v1/messages", "messages")),
        step("cutting requests", {
            let runtime = runtime();
            Box::new(move |text| {
                let engine = Engine::builder(Arc::new(MemStore::new())).callers(Tenancy::Single).build();
                let said = |role: &str, text: &str| json!({"role": role, "content": text});
                let history = [said("user", text), said("assistant", "Noted."), said("user", "And then?")];
                let body = json!({"model": "m", "messages": history}).to_string();
                let incoming = IncomingRequest::new("/v1/chat/completions", &[], &body, Tokens(8_000));
                drop(black_box(runtime.block_on(engine.ingest(&incoming))));
            })
        }),
        step("recording", {
            let runtime = runtime();
            Box::new(move |text| {
                let folder = tempfile::tempdir().unwrap();
                let store = Arc::new(SqliteStore::open(&folder.path().join("neap.db")).unwrap());
                let engine = Engine::builder(store).build();
                let session = SessionId::parse("bench").unwrap();
                runtime
                    .block_on(engine.record(&session, Author::Import, &[(Stamp(1), Message::user(text))]))
                    .unwrap();
            })
        }),
    ]
}

/// The shortest of some times.
fn time(step: &dyn Fn(&str), text: &str) -> Duration {
    let mut least = Duration::MAX;
    let begun = Instant::now();
    for _ in 0..5 {
        let at = Instant::now();
        step(text);
        least = least.min(at.elapsed());
        if begun.elapsed() > Duration::from_secs(4) {
            break;
        }
    }
    least
}

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let mut failed = Vec::new();
    println!("{:18} {:12} {}", "step", "text", SIZES.map(|size| format!("{:>11}", size)).join(""));
    for (name, step) in
        steps().iter().filter(|(name, _)| wanted.as_ref().is_none_or(|w| name.starts_with(w.as_str())))
    {
        for kind in KINDS {
            let mut line = format!("{name:18} {kind:12}");
            let mut last: Option<(usize, Duration)> = None;
            for size in SIZES {
                let text = text(kind, size);
                let took = time(step.as_ref(), &text);
                line.push_str(&format!("{:>9.3}ms", took.as_secs_f64() * 1e3));
                if let Some((shorter, before)) = last.filter(|(shorter, _)| *shorter >= JUDGED_FROM) {
                    let (times, share) = (took.as_secs_f64() / before.as_secs_f64(), (size / shorter) as f64);
                    if times > share * SLACK {
                        failed.push(format!(
                            "{name}, {kind}: {shorter} to {size} bytes took {times:.1} times as long"
                        ));
                    }
                }
                last = Some((size, took));
            }
            println!("{line}");
        }
    }
    assert!(failed.is_empty(), "more than linear:\n{}", failed.join("\n"));
}
