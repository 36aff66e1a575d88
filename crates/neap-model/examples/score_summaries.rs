//! How much do extractive summaries keep? Reads conversations from standard input, one JSON object a line:
//! `{"turns": [{"id", "who", "text"}], "questions": [{"evidence": [turn ids], "answer"}]}`.
//!
//! Each is split into spans of about 2,000 tokens; each span is summarised as a compaction would, and held against
//! its receipt. For questions: how many of the answer's words that the evidence's spans have do their summaries have?

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::sync::Arc;

use neap_core::base::message::{Message, message_tokens};
use neap_core::base::policy::Policy;
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::session::summary::{SummarizerKind, SummaryRequest};
use neap_core::text::receipt::{ProbeKind, Tally, receipt};
use neap_core::text::terms::terms;
use neap_model::bpe::BpeCounter;
use neap_model::summarize::ExtractiveSummarizer;
use serde_json::Value;

const SPAN_TOKENS: Tokens = Tokens(2_000);

#[derive(Default)]
struct Span {
    turns: BTreeSet<String>,
    said: Vec<Message>,
    tokens: Tokens,
}

#[derive(Default)]
struct Score {
    kinds: BTreeMap<ProbeKind, Tally>,
    spans: u64,
    changed: usize,
    tokens: (u64, u64),
    /// Questions, answer words in the spans, of these in the summaries, questions with all of them.
    answers: (u64, u64, u64, u64),
}

fn main() -> std::io::Result<()> {
    let counter: Arc<dyn TokenCounter> = Arc::new(BpeCounter::o200k());
    let summarizer = ExtractiveSummarizer::new(counter.clone());
    let mut score = Score::default();
    for line in std::io::stdin().lock().lines() {
        let conversation: Value = serde_json::from_str(&line?)?;
        let spans = spans(counter.as_ref(), &conversation);
        let summaries: Vec<String> = spans.iter().map(|span| summarize(&summarizer, span)).collect();
        for (span, summary) in spans.iter().zip(&summaries) {
            score.add(counter.as_ref(), span, summary);
        }
        for question in conversation["questions"].as_array().into_iter().flatten() {
            score.ask(&spans, &summaries, question);
        }
    }
    score.tell(&mut std::io::stdout().lock())
}

fn spans(counter: &dyn TokenCounter, conversation: &Value) -> Vec<Span> {
    let mut out: Vec<Span> = vec![Span::default()];
    let mut first_speaker: Option<String> = None;
    for turn in conversation["turns"].as_array().into_iter().flatten() {
        let who = turn["who"].as_str().unwrap_or("user").to_lowercase();
        let text = turn["text"].as_str().unwrap_or_default();
        let is_first = *first_speaker.get_or_insert_with(|| who.clone()) == who;
        let message = match who.as_str() {
            "tool" => Message::tool("call", text),
            "assistant" => Message::assistant(text),
            "user" => Message::user(text),
            _ if is_first => Message::user(text),
            _ => Message::assistant(text),
        };
        let tokens = message_tokens(counter, &message);
        if out.last().is_some_and(|span| span.tokens > Tokens::ZERO && span.tokens + tokens > SPAN_TOKENS) {
            out.push(Span::default());
        }
        if let Some(span) = out.last_mut() {
            span.turns.insert(turn["id"].to_string());
            span.said.push(message);
            span.tokens += tokens;
        }
    }
    out
}

fn summarize(summarizer: &ExtractiveSummarizer, span: &Span) -> String {
    let tokens_max = Policy::default().summary_target(span.tokens);
    let (about, messages) = ("a span".to_owned(), span.said.clone());
    let request = SummaryRequest { topic: about, summarizer: SummarizerKind::BuiltIn, messages, tokens_max };
    summarizer.summary(&request).unwrap_or_default()
}

impl Score {
    fn add(&mut self, counter: &dyn TokenCounter, span: &Span, summary: &str) {
        let receipt = receipt(&span.said, summary, None);
        for (kind, tally) in &receipt.kinds {
            let sum = self.kinds.entry(*kind).or_default();
            sum.found += tally.found;
            sum.retained += tally.retained;
        }
        self.spans += 1;
        self.changed += receipt.changed.len();
        self.tokens.0 += span.tokens.0;
        self.tokens.1 += counter.count(summary).0;
    }

    fn ask(&mut self, spans: &[Span], summaries: &[String], question: &Value) {
        let evidence: BTreeSet<String> =
            question["evidence"].as_array().into_iter().flatten().map(Value::to_string).collect();
        let mut said: BTreeSet<String> = BTreeSet::new();
        let mut kept: BTreeSet<String> = BTreeSet::new();
        for (span, summary) in spans.iter().zip(summaries).filter(|(span, _)| !span.turns.is_disjoint(&evidence)) {
            said.extend(span.said.iter().flat_map(|message| terms(&message.content)));
            kept.extend(terms(summary));
        }
        let answer = question["answer"].as_str().map_or_else(|| question["answer"].to_string(), str::to_owned);
        let words: BTreeSet<String> = terms(&answer).into_iter().filter(|term| said.contains(term)).collect();
        if words.is_empty() {
            return;
        }
        let held = words.intersection(&kept).count();
        self.answers.0 += 1;
        self.answers.1 += words.len() as u64;
        self.answers.2 += held as u64;
        self.answers.3 += u64::from(held == words.len());
    }

    fn tell(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(
            out,
            "spans {}, tokens {} to {}, changed {}",
            self.spans, self.tokens.0, self.tokens.1, self.changed
        )?;
        let mut all = Tally::default();
        for (kind, tally) in &self.kinds {
            let (retained, found) = (tally.retained, tally.found);
            writeln!(
                out,
                "{:<11}{:>6} of {:>6}{:>6} permille",
                kind.as_str(),
                retained,
                found,
                tally.retained_permille()
            )?;
            all.found += found;
            all.retained += retained;
        }
        writeln!(
            out,
            "{:<11}{:>6} of {:>6}{:>6} permille",
            "all",
            all.retained,
            all.found,
            all.retained_permille()
        )?;
        let (questions, words, held, whole) = self.answers;
        if let (Some(held), Some(whole)) =
            ((held * 1000).checked_div(words), (whole * 1000).checked_div(questions))
        {
            writeln!(out, "questions {questions}: answer words kept {held} permille, all kept {whole} permille")?;
        }
        Ok(())
    }
}
