//! Windows where things go wrong: turns that end out of order, records that are lost or forged, upkeep that comes too
//! late, more open efforts than there is room for.

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::base::ids::{EffortId, Stamp, StreamId, TurnNo};
use neap_core::base::ledger::Layer;
use neap_core::base::message::{CountedMessage, Exchange, Message, Scope};
use neap_core::base::policy::Policy;
use neap_core::base::testing::WordCounter;
use neap_core::base::tokens::Tokens;
use neap_core::context::epoch::SentPrompt;
use neap_core::context::tools::ToolSet;
use neap_core::context::{Selection, ThisTurn, WorkingContext, assemble};
use neap_core::session::effort::LogSize;
use neap_core::session::event::{EffortEvent, Event, SessionEvent, TurnEvent, WindowEvent};
use neap_core::session::log::{Log, LogCache, LogRequest, ReadFrom};
use neap_core::session::state::SessionState;
use neap_core::session::validate::validate_imported;
use neap_core::session::window::Span;
use neap_core::turn::{Input, Machine, Progress, Step, TurnContext, Upkeep};

/// A session of which only the rules are there.
struct Bare {
    state: SessionState,
    logs: BTreeMap<Scope, Vec<Arc<Exchange>>>,
}

impl Bare {
    fn new(policy: Policy) -> Self {
        let mut bare = Self { state: SessionState::default(), logs: BTreeMap::new() };
        let session = StreamId::parse("s").unwrap();
        let encoding = "words".to_owned();
        bare.record(SessionEvent::Created { session, encoding, policy, imported_from: None });
        bare
    }

    /// One in which ambient chat is bounded by its room alone.
    fn ambient() -> Self {
        let (context_tokens_max, epoch_turns_max, ambient_window) = (1_200, 1, 1_000);
        Self::new(Policy { context_tokens_max, epoch_turns_max, ambient_window, ..Policy::default() })
    }

    fn record(&mut self, event: impl Into<Event>) {
        self.state.record(Stamp(1), event);
    }

    fn start(&mut self, word: &str, count: usize) -> (TurnNo, CountedMessage) {
        let turn = self.state.turn().next();
        let message = CountedMessage::new(&WordCounter, Message::user(vec![word; count].join(" ")));
        self.record(TurnEvent::Started { turn, message: message.clone(), turn_id: None, author: None });
        (turn, message)
    }

    fn end(&mut self, (turn, message): (TurnNo, CountedMessage), scope: Scope) {
        let reply = CountedMessage::new(&WordCounter, Message::assistant("ok"));
        let (told, ledger) = (scope.clone(), Box::default());
        self.record(TurnEvent::Completed { turn, reply: reply.clone(), scope: told, ledger });
        let exchange = Exchange { turn, at: Stamp(0), messages: vec![message, reply] };
        self.logs.entry(scope).or_default().push(Arc::new(exchange));
    }

    fn chat(&mut self, turns: usize, words: usize) {
        for _ in 0..turns {
            let turn = self.start("w", words);
            self.end(turn, Scope::Ambient);
        }
    }

    fn load(&self, request: &LogRequest) -> Log {
        let within = |e: &&Arc<Exchange>| (request.turns.0..=request.turns.1).contains(&e.turn);
        let all = self.logs.get(&request.scope).into_iter().flatten().filter(within);
        let mut all: Vec<Arc<Exchange>> = all.cloned().collect();
        match request.from {
            ReadFrom::Newest => all.reverse(),
            ReadFrom::Oldest => all.sort_by_key(|exchange| exchange.turn),
        }
        let mut tokens = Tokens::ZERO;
        let mut met = Vec::new();
        for exchange in all {
            if tokens < request.tokens_max && met.len() < request.exchanges_max {
                tokens += exchange.tokens();
                met.push(exchange);
            }
        }
        if request.from == ReadFrom::Newest {
            met.reverse();
        }
        Log::new(met)
    }

    /// Upkeep to its end; the first commit may come too late.
    fn tend(&mut self, is_stale: bool) -> Vec<(u64, u64)> {
        let tools = ToolSet::none();
        let (mut logs, mut sent, mut is_stale) = (LogCache::default(), SentPrompt::default(), is_stale);
        let mut tending = Upkeep::default();
        let id = StreamId::parse("talk").expect("an id");
        let (mut made, mut committed, mut input) = (Vec::new(), self.state.clone(), Input::Begin);
        loop {
            let (state, counter, now) = (&mut self.state, &WordCounter, Stamp(9));
            let mut desk = TurnContext {
                id: &id,
                state,
                logs: &mut logs,
                sent_prompt: &mut sent,
                counter,
                tools: &tools,
                model: None,
                agent: None,
                now,
            };
            let Progress::Perform(step) = tending.step(&mut desk, input) else { return made };
            input = if let Step::LoadLogs(requests) = step {
                Input::LogsLoaded(requests.into_iter().map(|r| (r.scope.clone(), self.load(&r))).collect())
            } else if let Step::Summarize(request) = step {
                let words = request.messages.iter().flat_map(|m| m.content.split_whitespace());
                let some: Vec<&str> = words.take(request.tokens_max.0 as usize / 2).collect();
                Input::Summarized(Ok(some.join(" ")))
            } else if let Step::Commit(events) = step {
                if std::mem::take(&mut is_stale) {
                    (self.state, logs, sent) = (committed.clone(), LogCache::default(), SentPrompt::default());
                    Input::Stale
                } else {
                    committed = self.state.clone();
                    for recorded in &events {
                        let Event::Window(WindowEvent::SpanCompacted { span, .. }) = &recorded.event else {
                            panic!("upkeep recorded {recorded:?}")
                        };
                        made.push((span.first.0, span.last.0));
                    }
                    Input::Committed
                }
            } else {
                panic!("upkeep asked for {step:?}");
            };
        }
    }

    fn look(&self) -> WorkingContext {
        let mut logs = LogCache::default();
        for request in Selection::of(&self.state).log_requests(self.state.policy(), |_| false) {
            logs.put(request.scope.clone(), self.load(&request));
        }
        assemble(&self.state, &logs, &ToolSet::none(), &WordCounter, ThisTurn::default()).unwrap()
    }

    fn text(&self) -> String {
        self.look().messages.iter().map(|placed| format!("{}\n", placed.counted.message.content)).collect()
    }
}

/// After a commit that came too late, upkeep had no logs, took everything for gone, and summarised what was new.
#[test]
fn upkeep_that_came_too_late_decides_the_same_again() {
    let made = [false, true].map(|is_stale| {
        let mut bare = Bare::ambient();
        bare.chat(12, 80);
        bare.tend(is_stale)
    });
    assert!(!made[0].is_empty());
    assert_eq!(made[0], made[1]);
}

/// A turn that ended after a later one was in no span and not raw: out of view for good.
#[test]
fn turns_that_end_out_of_order_stay_in_view() {
    let mut bare = Bare::ambient();
    bare.chat(6, 80);
    let slow = bare.start("SLOW", 200);
    let quick = bare.start("QUICK", 300);
    bare.end(quick, Scope::Ambient);
    bare.end(slow, Scope::Ambient);
    for _ in 0..12 {
        bare.chat(1, 80);
        bare.tend(false);
        let logs = bare.look().ledger.logs;
        assert_eq!(logs[0].left_out, 0, "{logs:?}");
        let text = bare.text();
        let covered = bare.state.window(&Scope::Ambient).last_covered_turn();
        assert!(text.contains("SLOW") || covered >= TurnNo(7), "{text}");
    }
    let spans = bare.state.window(&Scope::Ambient).spans();
    assert!(spans.windows(2).all(|pair| pair[0].last.next() == pair[1].first), "{spans:?}");
}

/// One lost record costs that record: what was in it counted as raw ever after, and left no room for what is.
#[test]
fn a_lost_span_costs_that_span() {
    let mut bare = Bare::ambient();
    bare.chat(11, 100);
    let size = |from: usize| {
        let part = &bare.logs[&Scope::Ambient][from..11];
        LogSize { exchanges: part.len() as u64, tokens: part.iter().map(|e| e.tokens()).sum() }
    };
    // The span of turns 1 to 9 was a damaged record; a later one is there.
    let (turns, sizes) = ((TurnNo(10), TurnNo(11)), (size(9), size(0)));
    let span = Span::new(&WordCounter, &Scope::Ambient, turns, sizes, 0, "later");
    bare.record(WindowEvent::SpanCompacted { scope: Scope::Ambient, turn: TurnNo(11), span, receipt: None });
    bare.chat(4, 70);
    assert_eq!(bare.tend(false), []);
    assert_eq!(bare.look().ledger.logs[0].exchanges, 4, "what came after is raw");
}

/// Any number of idle efforts leave the raw ones what they need.
#[test]
fn idle_efforts_do_not_starve_the_others() {
    for idle in [0, 20, 120] {
        let mut bare = Bare::new(Policy { context_tokens_max: 8_000, epoch_turns_max: 1, ..Policy::default() });
        for n in 0..idle + 9 {
            let turn = bare.start("w", 60);
            let id = EffortId::parse(&format!("e{n}")).unwrap();
            bare.record(EffortEvent::Opened { id: id.clone(), name: id.to_string(), turn: turn.0 });
            bare.end(turn, Scope::Effort(id));
        }
        for _ in 0..10 {
            bare.tend(false);
        }
        let ledger = bare.look().ledger;
        let open = ledger.logs.iter().filter(|log| log.layer == Layer::Open);
        let (raw, short): (Vec<_>, Vec<_>) = open.partition(|log| log.exchanges > 0);
        assert_eq!(raw.len(), 8, "{idle} idle");
        assert!(short.len() as u64 >= idle.min(10), "{idle} idle: {} in short", short.len());
    }
}

/// However long a session and however large its budget, its row stays small.
#[test]
fn a_window_has_few_spans() {
    let mut bare = Bare::new(Policy { context_tokens_max: 64_000, epoch_turns_max: 1, ..Policy::default() });
    for _ in 0..600 {
        bare.chat(2, 200);
        bare.tend(false);
    }
    let window = bare.state.window(&Scope::Ambient);
    assert!(window.spans().len() <= 25, "{}", window.spans().len());
    assert!(window.last_covered_turn() > TurnNo(1_100));
}

/// A span from a file is believed only if its log has it.
#[test]
fn a_forged_span_is_refused() {
    let mut bare = Bare::ambient();
    bare.chat(40, 80);
    let small = LogSize { exchanges: 1, tokens: Tokens(80) };
    let large = LogSize { exchanges: 1 << 40, tokens: Tokens(1 << 40) };
    let forged = |turns: (u64, u64), sizes, text: &str| {
        let turns = (TurnNo(turns.0), TurnNo(turns.1));
        let span = Span::new(&WordCounter, &Scope::Ambient, turns, sizes, 0, text);
        validate_imported(
            &bare.state,
            &WordCounter,
            Event::Window(WindowEvent::SpanCompacted {
                scope: Scope::Ambient,
                turn: TurnNo(40),
                span,
                receipt: None,
            }),
        )
    };
    assert!(forged((1, 1), (small, small), "fine").is_ok());
    assert!(forged((1, 1), (large, small), "too much").is_err());
    assert!(forged((1, 1), (small, large), "too much").is_err());
    assert!(forged((2, 1), (small, small), "backwards").is_err());
    assert!(forged((1, 41), (small, small), "the future").is_err());
    assert!(forged((1, 1), (small, small), &"long ".repeat(20_000)).is_err());
}
