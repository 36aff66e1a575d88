//! `neap demo`: two hundred turns of a scripted agent session, really run through the engine on a store that is thrown
//! away, with the tokens of every turn beside those of sending everything.

mod chart;
mod figures;
mod script;

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use neap_core::base::ids::SessionId;
use neap_core::base::message::{Role, ToolCall};
use neap_core::turn::{ModelReply, ModelRequest};
use neap_engine::{Author, Engine, NullObserver, Session, SessionOptions};
use neap_model::profile::{ModelProfile, ModelProfiles};
use neap_model::scripted::ScriptedModel;
use neap_sqlite::SqliteStore;

use crate::cli::DemoArgs;
use crate::out::{self, BANNER, BOLD, DIM, Failure, GOOD, short, thousands};
use figures::{FactFound, Figures, Price, Summary};
use script::{FACT, FACT_TURN, QUESTION_TURN, Says, TURNS};

/// Its list prices are the demonstration's.
const PRICED_MODEL: &str = "claude-opus-4-8";
const BUDGET: u64 = 16_000;
/// Together with the longer looks, about a minute.
const PAUSE: Duration = Duration::from_millis(220);
const LONGER_LOOK: Duration = Duration::from_millis(2_500);
/// Without a terminal, a line for each of so many turns.
const TURNS_PER_LINE: usize = 20;
const EVENTS_SHOWN: usize = 3;

pub(crate) async fn run(args: &DemoArgs, json: bool) -> Result<ExitCode, Failure> {
    let profile = ModelProfiles::built_in().lookup(PRICED_MODEL);
    let scratch = tempfile::tempdir()?;
    let store = SqliteStore::open(&scratch.path().join("demo.db"))?;
    let steps: Arc<Mutex<VecDeque<ScriptedReply>>> = Arc::default();
    let engine = Engine::builder(Arc::new(store)).model(Arc::new(agent(steps.clone()))).build();
    let id = SessionId::from_name("demo").map_err(|error| Failure::new(error.to_string()))?;
    let mut session =
        engine.resume(&id, &SessionOptions { set: settings(&profile), ..SessionOptions::default() }).await?;
    let mut stage = Stage::new(json, args.fast);
    stage.begin();
    let mut answer = String::new();
    for turn in 1..=TURNS {
        let step = script::step(turn);
        push(&steps, step.calls, step.says);
        let reply = session.turn(Author::Person, &step.user, &mut NullObserver).await?;
        session.run_upkeep().await?;
        let events = reply.banners.iter().map(ToString::to_string).collect();
        if turn == QUESTION_TURN {
            answer.clone_from(&reply.text);
        }
        stage.figures.add(&reply);
        stage.show(&session, turn, &step.user, &reply.text, events).await;
    }
    engine.flush().await;
    let word_for_word = answer.contains(FACT);
    let fact =
        FactFound { said_in_turn: FACT_TURN, asked_in_turn: QUESTION_TURN, said: FACT, answer, word_for_word };
    let summary = stage.figures.summary(fact, session.state(), &profile);
    out::print_answer(json, &summary, || stage.end(&summary))
}

fn settings(profile: &ModelProfile) -> Vec<(String, String)> {
    let prices = profile.price_settings().into_iter().map(|(key, cents)| (key.to_owned(), cents.to_string()));
    prices.chain([("context_tokens_max".to_owned(), BUDGET.to_string())]).collect()
}

enum ScriptedReply {
    Calls(Vec<ToolCall>),
    Words(Says),
}

fn push(steps: &Mutex<VecDeque<ScriptedReply>>, calls: Vec<(&'static str, String)>, says: Says) {
    let mut steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
    if !calls.is_empty() {
        let call = |(at, (name, arguments)): (usize, (&str, String))| ToolCall {
            id: format!("call-{at}"),
            name: name.to_owned(),
            arguments,
        };
        steps.push_back(ScriptedReply::Calls(calls.into_iter().enumerate().map(call).collect()));
    }
    steps.push_back(ScriptedReply::Words(says));
}

/// The scripted agent. What it is asked about the past, it can only read in its prompt.
fn agent(steps: Arc<Mutex<VecDeque<ScriptedReply>>>) -> ScriptedModel {
    ScriptedModel::from_fn(move |request| {
        let reply = |text: String, calls| ModelReply { text, calls, is_truncated: false };
        let next = steps.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Ok(match next {
            Some(ScriptedReply::Calls(calls)) => reply(String::new(), calls),
            Some(ScriptedReply::Words(Says::Text(text))) => reply(text, Vec::new()),
            Some(ScriptedReply::Words(Says::Sentence(words))) => reply(read(request, words), Vec::new()),
            None => reply("I have nothing to add.".to_owned(), Vec::new()),
        })
    })
}

/// The line of the prompt that has these words.
fn read(request: &ModelRequest, words: &str) -> String {
    let spoken = request.messages.iter().filter(|message| message.role != Role::Tool);
    let mut lines = spoken.flat_map(|message| message.content.lines());
    lines.find(|line| line.contains(words)).unwrap_or("That is not in my prompt.").trim().to_owned()
}

/// Where it is shown: redrawn in place on a terminal, else a line now and then; nothing for JSON.
struct Stage {
    figures: Figures,
    is_silent: bool,
    is_live: bool,
    is_fast: bool,
    width: usize,
    events: Vec<String>,
    lines_drawn: usize,
}

impl Stage {
    fn new(json: bool, fast: bool) -> Self {
        let is_live = !json && out::is_live();
        Self {
            figures: Figures::default(),
            is_silent: json,
            is_live,
            is_fast: fast || !is_live,
            width: out::width(),
            events: Vec::new(),
            lines_drawn: 0,
        }
    }

    fn begin(&self) {
        if self.is_silent {
            return;
        }
        let title =
            format!("{BOLD}neap demo{BOLD:#}: {TURNS} turns of a scripted agent, really run; nothing is kept");
        out::wrap(&title, self.width).into_iter().for_each(out::print_line);
        out::print_line("");
    }

    async fn show(&mut self, session: &Session, turn: usize, said: &str, reply: &str, events: Vec<String>) {
        let is_question = turn == QUESTION_TURN;
        for event in &events {
            let line = event.lines().next().unwrap_or_default();
            self.events
                .push(format!("{DIM}{turn:>4}{DIM:#} {BANNER}{}{BANNER:#}", out::shorten(line, self.width - 6)));
        }
        if turn == FACT_TURN || is_question {
            self.events.push(format!("{DIM}{turn:>4}{DIM:#} › {}", out::shorten(said, self.width - 8)));
        }
        if is_question {
            self.events.push(format!("     {GOOD}{}{GOOD:#}", out::shorten(reply, self.width - 6)));
        }
        if self.is_silent {
            return;
        }
        if self.is_live {
            self.redraw(session, turn);
        } else {
            self.print_progress(turn);
        }
        if !self.is_fast {
            let looks_longer = is_question || turn == FACT_TURN;
            tokio::time::sleep(if looks_longer { LONGER_LOOK } else { PAUSE }).await;
        }
    }

    fn print_progress(&mut self, turn: usize) {
        if turn == FACT_TURN || turn == QUESTION_TURN {
            self.events.drain(..).for_each(out::print_line);
        }
        self.events.clear();
        if turn.is_multiple_of(TURNS_PER_LINE) {
            out::print_line(self.figures_line(turn));
        }
    }

    fn figures_line(&self, turn: usize) -> String {
        let Some(point) = self.figures.points.last() else { return String::new() };
        let (everything, sent) = (thousands(point.everything), thousands(point.sent));
        format!("{DIM}turn{DIM:#} {turn:>3}  everything {everything:>6}  Neap {GOOD}{sent:>5}{GOOD:#}")
    }

    fn redraw(&mut self, session: &Session, turn: usize) {
        let mut lines = chart::draw(&self.figures.points, TURNS, self.width);
        lines.push(String::new());
        lines.push(self.figures_line(turn));
        let active = session.state().active_effort().map_or("", |effort| effort.id.as_str());
        let concluded = self.figures.closed;
        lines.push(format!("{DIM}effort {active} · {concluded} concluded{DIM:#}"));
        lines.push(String::new());
        self.events.drain(..self.events.len().saturating_sub(EVENTS_SHOWN));
        lines.extend(self.events.iter().cloned());
        lines.resize(chart::ROWS + 4 + EVENTS_SHOWN, String::new());
        out::redraw(self.lines_drawn, &lines);
        self.lines_drawn = lines.len();
    }

    /// The last page: the lines, the fact, the money, and what to try.
    fn end(&self, summary: &Summary) -> String {
        let mut lines = Vec::new();
        if !self.is_live {
            lines.push(String::new());
            lines.extend(chart::draw(&self.figures.points, TURNS, self.width));
        }
        lines.push(String::new());
        lines.extend(fact_lines(&summary.fact));
        lines.push(String::new());
        lines.extend(total_lines(summary));
        lines.push(String::new());
        lines.push(format!("{DIM}Try it:{DIM:#}"));
        for (command, what) in [
            ("neap chat", "with the built-in model: no key, no network"),
            ("neap run -- claude", "Claude Code, within a budget"),
            ("neap import claude-code", "make what you did before searchable"),
        ] {
            lines.push(format!("  {BOLD}{command}{BOLD:#}: {DIM}{what}{DIM:#}"));
        }
        lines.push(String::new());
        let fitted: Vec<String> = lines.iter().flat_map(|line| out::wrap(line, self.width)).collect();
        fitted.join("\n")
    }
}

fn fact_lines(fact: &FactFound) -> Vec<String> {
    let ago = fact.asked_in_turn - fact.said_in_turn;
    let how = match fact.word_for_word {
        true => "came back word for word",
        false => "did not come back",
    };
    vec![
        format!("Said in turn {}, asked for {ago} turns later; it {how}:", fact.said_in_turn),
        format!("  {GOOD}{}{GOOD:#}", out::escape_control(&fact.answer)),
    ]
}

fn total_lines(summary: &Summary) -> Vec<String> {
    let mut lines = vec![
        format!(
            "The last request had {} tokens; with everything it would have had {}.",
            thousands(summary.tokens_last),
            thousands(summary.everything_last)
        ),
        format!(
            "In all {} tokens were sent, {} % of them from the cache; with everything {}.",
            short(summary.tokens_sent),
            summary.cached_percent,
            short(summary.everything_sent)
        ),
    ];
    if let Some(Price { model, input, cache_read, dollars, everything_dollars, saved_dollars }) = &summary.price {
        lines.push(format!(
            "At {model}'s prices {DIM}(${input} a million tokens, ${cache_read} from the cache){DIM:#} that is {} in \
             place of {}: {GOOD}{} saved{GOOD:#}.",
            out::dollars(*dollars),
            out::dollars(*everything_dollars),
            out::dollars(*saved_dollars)
        ));
    }
    lines
}
