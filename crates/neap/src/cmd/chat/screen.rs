//! What a chat looks like: on a terminal with colour and a status line, in a pipe plain.

use std::io::IsTerminal;
use std::time::Duration;

use neap_core::memory_op::MemoryOp;
use neap_core::tools::Banner;
use neap_core::turn::INTERRUPTED;
use neap_engine::{Session, TurnReply, Watch};

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
}

impl Screen {
    pub(super) fn new(mem_debug: bool) -> Self {
        let on_terminal = std::io::stdout().is_terminal();
        Self { on_terminal, mid_line: false, shown: false, mem_debug, held: None }
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
        out::line(format!(
            "{DIM}Built-in offline model: it keeps, finds and quotes what you say, and knows nothing else. /help lists commands.{DIM:#}"
        ));
        if let Some(active) = state.active() {
            out::line(format!("{DIM}active effort:{DIM:#} {}", active.id));
        }
        out::line("");
    }

    pub(super) fn begin_reply(&mut self) {
        self.mid_line = false;
        self.shown = false;
    }

    /// Ends the line, and shows what did not come as words: that there was no answer, or that it was cut short.
    pub(super) fn end_reply(&mut self, reply: Option<&TurnReply>) {
        if let Some(reply) = reply {
            let rest = if self.shown {
                reply.text.strip_suffix(INTERRUPTED).map(|_| INTERRUPTED)
            } else {
                Some(&*reply.text)
            };
            if let Some(rest) = rest {
                self.text(rest);
            }
        }
        self.end_line();
    }

    /// A quiet line under each reply: turn, tokens of budget, share of them that was cached, active effort, expanded, evicted.
    pub(super) fn status(&self, session: &Session, reply: &TurnReply) {
        if !self.on_terminal {
            return;
        }
        let state = session.state();
        let (used, budget) = (reply.ledger.tokens.total(), reply.ledger.budget);
        let mut parts = vec![
            format!("turn {}", reply.turn),
            format!("{} of {} tokens", thousands(used.0), thousands(budget.0)),
        ];
        if reply.ledger.cost.calls > 0 {
            parts.push(format!("{} % cached", reply.ledger.cost.cached_percent()));
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
