//! Output of a chat: colours and a status line on a terminal, plain text in a pipe.

use std::io::IsTerminal;
use std::time::Duration;

use neap_core::base::ledger::Ledger;
use neap_core::session::memory_op::MemoryOp;
use neap_core::session::report::saved_dollars;
use neap_core::turn::tools::Banner;
use neap_engine::{Session, TurnObserver, TurnReply};
use neap_model::ChatModel;
use neap_model::client::api_name;
use neap_model::usage::Usage;
use serde_json::json;

use super::word_wrap::WordWrap;
use crate::model::ChosenModel;
use crate::out::{self, BANNER, BOLD, DIM, short};
use crate::progress::Spinner;

/// A cent: less is not worth a place in the line.
const SAVED_DOLLARS_MIN: f64 = 0.01;

pub(super) struct Screen {
    on_terminal: bool,
    /// One object per turn is printed, and nothing else.
    json: bool,
    mid_line: bool,
    /// Whether any text of this reply was streamed.
    shown: bool,
    mem_debug: bool,
    /// Lines held back while someone types.
    held: Option<Vec<String>>,
    /// `None` for the built-in offline model.
    model: Option<ChosenModel>,
    /// Until the first words of a reply.
    spinner: Option<Spinner>,
    /// On a terminal.
    wrap: Option<WordWrap>,
}

impl Screen {
    pub(super) fn new(mem_debug: bool, json: bool, model: Option<ChosenModel>) -> Self {
        let on_terminal = std::io::stdout().is_terminal() && !json;
        let wrap = on_terminal.then(|| WordWrap::new(out::width()));
        Self {
            on_terminal,
            json,
            mid_line: false,
            shown: false,
            mem_debug,
            held: None,
            model,
            spinner: None,
            wrap,
        }
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// The turn, for a program.
    pub(super) fn print_json(&self, reply: &TurnReply) {
        if !self.json {
            return;
        }
        let banners: Vec<String> = reply.banners.iter().map(ToString::to_string).collect();
        let line = json!({
            "turn": reply.turn, "reply": reply.text, "incomplete": reply.incomplete, "banners": banners,
            "refusals": reply.refusals, "tokens": reply.ledger.tokens.total(), "budget": reply.ledger.budget,
            "naive_tokens": reply.ledger.naive_tokens,
        });
        if let Err(failure) = out::print_json(&line) {
            out::print_failure(&failure, true);
        }
    }

    pub(super) fn hold_output(&mut self) {
        self.held = Some(Vec::new());
    }

    pub(super) fn print_held(&mut self) {
        for line in self.held.take().unwrap_or_default() {
            out::print_notice(line);
        }
    }

    pub(super) fn welcome(&self, session: &Session) {
        if !self.on_terminal {
            return;
        }
        let state = session.state();
        let (id, turns) = (session.id(), state.turn().0);
        let resumed = if turns == 0 { "new".to_owned() } else { format!("{} so far", out::count(turns, "turn")) };
        out::print_line(format!("{BOLD}neap{BOLD:#} · session {BOLD}{id}{BOLD:#} {DIM}({resumed}){DIM:#}"));
        let who = match &self.model {
            Some(ChosenModel { client, api, base_url, .. }) => {
                format!("{} at {} ({})", out::escape_control(client.name()), base_url.host(), api_name(*api))
            }
            None => "Built-in offline model: it keeps, finds and quotes what you say, and knows nothing else"
                .to_owned(),
        };
        out::print_line(format!("{DIM}{who}. /help lists commands.{DIM:#}"));
        if let Some(active) = state.active_effort() {
            out::print_line(format!("{DIM}active effort:{DIM:#} {}", active.id));
        }
        out::print_line("");
    }

    /// Whether the answers cost money, at prices that are known.
    pub(super) fn has_prices(&self) -> bool {
        self.model.as_ref().is_some_and(|model| model.profile.price_input.is_some())
    }

    pub(super) fn model(&mut self) -> Option<&mut ChosenModel> {
        self.model.as_mut()
    }

    pub(super) fn begin_reply(&mut self) {
        self.mid_line = false;
        self.shown = false;
        self.spinner = (self.on_terminal && self.model.is_some()).then(Spinner::start);
    }

    /// Ends the reply's line; prints a note where the reply is missing or incomplete.
    pub(super) fn end_reply(&mut self, reply: Option<&TurnReply>) {
        self.spinner = None;
        if let Some(reply) = reply {
            match &reply.incomplete {
                Some(incomplete) if self.shown => self.on_text(&format!(" {}", incomplete.label())),
                Some(_) | None if !self.shown => self.on_text(&reply.display_text()),
                Some(_) | None => {}
            }
        }
        self.end_line();
    }

    pub(super) fn status(&self, session: &Session, reply: &TurnReply, usage: Option<&Usage>) {
        if !self.on_terminal {
            return;
        }
        let state = session.state();
        let mut parts = vec![format!("turn {}", reply.turn)];
        parts.extend(self.figures(session, &reply.ledger, usage));
        parts.extend(state.active_effort().map(|effort| format!("active {}", effort.id)));
        let expanded: Vec<&str> = state.expanded_efforts().map(|effort| effort.id.as_str()).collect();
        if !expanded.is_empty() {
            parts.push(format!("expanded {}", expanded.join(" ")));
        }
        let evicted = state.evicted_efforts().len();
        if evicted > 0 {
            parts.push(format!("{evicted} evicted"));
        }
        out::print_line(format!("{DIM}{}{DIM:#}\n", parts.join(" · ")));
    }

    /// What was sent of the budget, and what that gains. Nothing is claimed before there is a gain, and no money without
    /// a provider whose prices are known.
    fn figures(&self, session: &Session, ledger: &Ledger, usage: Option<&Usage>) -> Vec<String> {
        let (total, everything) = (ledger.tokens.total().0, ledger.naive_tokens.0);
        // The budget is in the provider's tokens: its count is preferred to ours.
        let sent = usage.filter(|usage| usage.calls == 1).map_or(total, |usage| usage.input.0);
        let budget = session.state().policy().context_tokens_max;
        let mut parts = vec![format!("{} of {}", short(sent), short(budget))];
        if everything > total {
            parts.push(format!("everything {}", short(everything)));
        }
        if self.model.is_none() {
            return parts;
        }
        let saved = saved_dollars(session.state());
        if self.has_prices() && saved >= SAVED_DOLLARS_MIN {
            parts.push(format!("saved ${saved:.2}"));
        }
        // The provider's count is preferred to our estimate.
        let cached = usage.map_or_else(|| ledger.cost.cached_percent(), Usage::cached_percent);
        if cached > 0 {
            parts.push(format!("{cached} % cached"));
        }
        parts
    }

    fn end_line(&mut self) {
        if let Some(wrap) = &mut self.wrap {
            out::print_text(wrap.finish());
        }
        if self.mid_line {
            out::print_line("");
            self.mid_line = false;
        }
    }
}

impl TurnObserver for Screen {
    fn on_text(&mut self, words: &str) {
        if words.is_empty() || self.json {
            return;
        }
        self.spinner = None;
        match &mut self.wrap {
            Some(wrap) => out::print_text(wrap.push(words)),
            None => out::print_text(out::escape_control(words)),
        }
        self.mid_line = !words.ends_with('\n');
        self.shown = true;
    }

    fn on_banner(&mut self, banner: &Banner) {
        if self.json {
            return;
        }
        self.spinner = None;
        self.end_line();
        out::print_line(format!("{BANNER}{}{BANNER:#}", out::escape_control(&banner.to_string())));
    }

    fn on_memory_op(&mut self, op: &MemoryOp, took: Duration) {
        if !self.mem_debug {
            return;
        }
        let line = format!("memory · turn {} · {op} · {:.1} ms", op.turn, took.as_secs_f64() * 1_000.0);
        match &mut self.held {
            Some(held) => held.push(line),
            None => {
                self.end_line();
                out::print_notice(line);
            }
        }
    }
}
