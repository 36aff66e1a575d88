//! What a chat looks like: on a terminal with colour and a status line, in a pipe plain.

use std::io::IsTerminal;
use std::time::Duration;

use neap_core::memory_op::MemoryOp;
use neap_core::tools::Banner;
use neap_engine::{Session, TurnReply, Watch};
use neap_model::ChatModel;
use neap_model::usage::Usage;

use crate::model::{Chosen, told};
use crate::out::{self, BANNER, BOLD, DIM, thousands};

/// The screen.
pub(super) struct Screen {
    on_terminal: bool,
    /// Whether the cursor is in the middle of a line.
    mid_line: bool,
    /// Whether words of this reply were shown as they came.
    shown: bool,
    /// Whether what is done to the memory is shown.
    mem_debug: bool,
    /// Lines about it that wait until what is being typed is entered.
    held: Option<Vec<String>>,
    /// Who answers; the built-in offline model if none was asked for.
    model: Option<Chosen>,
}

impl Screen {
    pub(super) fn new(mem_debug: bool, model: Option<Chosen>) -> Self {
        let on_terminal = std::io::stdout().is_terminal();
        Self { on_terminal, mid_line: false, shown: false, mem_debug, held: None, model }
    }

    /// Someone types: nothing is written across that.
    pub(super) fn hold(&mut self) {
        self.held = Some(Vec::new());
    }

    /// It is entered.
    pub(super) fn release(&mut self) {
        for line in self.held.take().unwrap_or_default() {
            out::aside(line);
        }
    }

    pub(super) fn welcome(&self, session: &Session) {
        if !self.on_terminal {
            return;
        }
        let state = session.state();
        let (id, turns) = (session.id(), state.turn().0);
        let resumed = if turns == 0 { "new".to_owned() } else { format!("{} so far", out::count(turns, "turn")) };
        out::line(format!("{BOLD}neap{BOLD:#} · session {BOLD}{id}{BOLD:#} {DIM}({resumed}){DIM:#}"));
        let who = match &self.model {
            Some(Chosen { client, api, base_url, .. }) => {
                format!("{} at {} ({api})", out::clean(client.name()), base_url.host())
            }
            None => "Built-in offline model: it keeps, finds and quotes what you say, and knows nothing else"
                .to_owned(),
        };
        out::line(format!("{DIM}{who}. /help lists commands.{DIM:#}"));
        if let Some(active) = state.active() {
            out::line(format!("{DIM}active effort:{DIM:#} {}", active.id));
        }
        out::line("");
    }

    /// Who answers, if it is not the built-in offline model.
    pub(super) fn model(&mut self) -> Option<&mut Chosen> {
        self.model.as_mut()
    }

    pub(super) fn begin_reply(&mut self) {
        self.mid_line = false;
        self.shown = false;
    }

    /// Ends the line, and shows what did not come as words: that there was no answer, or that it was cut short.
    pub(super) fn end_reply(&mut self, reply: Option<&TurnReply>) {
        if let Some(reply) = reply {
            match &reply.incomplete {
                Some(why) if self.shown => self.text(&format!(" {}", why.mark())),
                Some(_) | None if !self.shown => self.text(&reply.for_people()),
                Some(_) | None => {}
            }
        }
        self.end_line();
    }

    /// A quiet line under each reply: turn, tokens of budget, share of them that was cached, active effort, expanded, evicted.
    pub(super) fn status(&self, session: &Session, reply: &TurnReply, used: Option<&Usage>) {
        if !self.on_terminal {
            return;
        }
        let state = session.state();
        let (total, budget) = (reply.ledger.tokens.total(), reply.ledger.budget);
        let mut parts = vec![
            format!("turn {}", reply.turn),
            format!("{} of {} tokens", thousands(total.0), thousands(budget.0)),
        ];
        // What the provider says counts; where it says nothing, what we reckon.
        match (&self.model, used) {
            (Some(model), Some(used)) => parts.push(told(&model.profile, used)),
            _ if reply.ledger.cost.calls > 0 => {
                parts.push(format!("{} % cached", reply.ledger.cost.cached_percent()));
            }
            _ => {}
        }
        parts.extend(state.active().map(|effort| format!("active {}", effort.id)));
        let expanded: Vec<&str> = state.expanded().map(|effort| effort.id.as_str()).collect();
        if !expanded.is_empty() {
            parts.push(format!("expanded {}", expanded.join(" ")));
        }
        let evicted = state.evicted().len();
        if evicted > 0 {
            parts.push(format!("{evicted} evicted"));
        }
        out::line(format!("{DIM}{}{DIM:#}\n", parts.join(" · ")));
    }

    fn end_line(&mut self) {
        if self.mid_line {
            out::line("");
            self.mid_line = false;
        }
    }
}

impl Watch for Screen {
    fn text(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        out::piece(out::clean(words));
        self.mid_line = !words.ends_with('\n');
        self.shown = true;
    }

    fn banner(&mut self, banner: &Banner) {
        self.end_line();
        out::line(format!("{BANNER}{}{BANNER:#}", out::clean(&banner.to_string())));
    }

    fn memory(&mut self, op: &MemoryOp, took: Duration) {
        if !self.mem_debug {
            return;
        }
        let line = format!("memory · turn {} · {op} · {:.1} ms", op.turn, took.as_secs_f64() * 1_000.0);
        match &mut self.held {
            Some(held) => held.push(line),
            None => {
                self.end_line();
                out::aside(line);
            }
        }
    }
}
