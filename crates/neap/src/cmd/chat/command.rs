//! What can be typed after a slash.

use neap_core::ledger::Layer;
use neap_core::recall::Filter;
use neap_engine::{Engine, Session, TakenBack};
use serde_json::json;

use super::knowledge;
use super::screen::Screen;
use crate::cmd::{efforts, explain, report, search};
use crate::out::{self, BANNER, BOLD, DIM, Failure, thousands};

/// Hits that `/search` shows.
const HITS_MAX: usize = 8;

/// Every command with what it does.
pub(super) const COMMANDS: [(&str, &str); 16] = [
    ("/status", "figures of this session: tokens, savings, decay"),
    ("/efforts", "all efforts, where they are and what they cost"),
    ("/search", "WORDS: find efforts and what was said"),
    ("/expand", "ID: bring a concluded effort's log back into the context"),
    ("/collapse", "ID: put it back to its summary"),
    ("/switch", "ID: make another open effort the active one"),
    ("/close", "[ID]: conclude an effort"),
    ("/undo", "take back what was said last: it is no longer shown or found, and stays stored"),
    ("/retry", "[TEXT]: take it back and say it again, or say TEXT instead"),
    ("/context", "exactly what the model would see, by layer"),
    ("/remember", "TEXT: have the agent know it from now on, in every conversation"),
    ("/recall", "WORDS: find what the agent knows"),
    ("/decide", "TEXT --confidence 0.8: record a decision"),
    ("/why", "[TURN]: what was in the context of a turn and why, memories with their scores"),
    ("/help", "this list"),
    ("/quit", "end the chat; everything is stored"),
];

/// Whether the chat goes on.
pub(super) enum Next {
    GoOn,
    /// There is no such command; what was typed was not said to anyone.
    NoCommand,
    /// This is to be said.
    Say(String),
    Quit,
}

/// A command as typed.
pub(super) struct Command<'a> {
    name: &'a str,
    rest: &'a str,
}

impl<'a> Command<'a> {
    /// Text that begins with a slash and a word of letters is a command; behind a space it is said as it is.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        if !text.starts_with('/') {
            return None;
        }
        let name = text.split_whitespace().next()?;
        let word = name.strip_prefix('/')?;
        let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic());
        is_word.then(|| Self { name, rest: text[name.len()..].trim() })
    }

    pub(super) async fn run(
        &self,
        engine: &Engine,
        session: &mut Session,
        screen: &mut Screen,
    ) -> Result<Next, Failure> {
        match self.name {
            "/status" => out::piece(report::render(&session.report())),
            "/efforts" => out::piece(efforts::render(session.state())),
            "/search" => self.search(engine, session).await?,
            "/expand" => self.tool(session, screen, "expand_effort").await?,
            "/collapse" => self.tool(session, screen, "collapse_effort").await?,
            "/switch" => self.tool(session, screen, "switch_effort").await?,
            "/close" => self.tool(session, screen, "close_effort").await?,
            "/undo" => {
                take_back(session).await?;
            }
            "/retry" => {
                let taken = take_back(session).await?;
                let said = if self.rest.is_empty() { taken } else { taken.map(|_| self.rest.to_owned()) };
                return Ok(said.map_or(Next::GoOn, Next::Say));
            }
            "/context" => context(session).await?,
            "/remember" => knowledge::remember(engine, session, self.rest).await?,
            "/recall" => knowledge::recall(engine, self.rest).await?,
            "/decide" => knowledge::decide(engine, session, self.rest).await?,
            "/why" => self.why(engine, session).await?,
            "/help" => help(),
            "/quit" | "/exit" => return Ok(Next::Quit),
            other => {
                out::line(format!("There is no command {}.", out::clean(other)));
                out::line(format!("{DIM}hint:{DIM:#} /help lists them; begin with a space to say it as it is"));
                return Ok(Next::NoCommand);
            }
        }
        Ok(Next::GoOn)
    }

    async fn search(&self, engine: &Engine, session: &Session) -> Result<(), Failure> {
        if self.rest.is_empty() {
            out::line("Name what to look for, e.g. /search login timeout.");
            return Ok(());
        }
        let hits = engine.search(self.rest, Filter::of_stream(session.id()), HITS_MAX).await?;
        if hits.is_empty() {
            out::line(format!("Nothing found for \"{}\".", out::clean(self.rest)));
        }
        for hit in &hits {
            out::piece(search::render(hit, false));
        }
        Ok(())
    }

    async fn tool(&self, session: &mut Session, screen: &mut Screen, tool: &str) -> Result<(), Failure> {
        let arguments = if self.rest.is_empty() { json!({}) } else { json!({"id": self.rest}) };
        let outcome = session.call_tool_watched(tool, &arguments.to_string(), screen).await?;
        if let Some(banner) = outcome.banner {
            out::line(format!("{BANNER}{}{BANNER:#}", out::clean(&banner.to_string())));
        }
        if let Some(refusal) = outcome.refusal {
            out::line(out::clean(&refusal));
            out::line(format!("{DIM}hint:{DIM:#} /efforts lists the ids, and where each effort is"));
        }
        Ok(())
    }

    async fn why(&self, engine: &Engine, session: &Session) -> Result<(), Failure> {
        let turn = match self.rest {
            "" if session.state().turn().0 == 0 => {
                out::line("Nothing has been said yet.");
                return Ok(());
            }
            "" => session.state().turn().0,
            text => match text.parse() {
                Ok(turn) => turn,
                Err(_) => {
                    out::line("Name a turn by its number, e.g. /why 3.");
                    return Ok(());
                }
            },
        };
        match engine.explain(session.id(), Some(neap_core::ids::TurnNo(turn))).await {
            Ok(explained) => {
                let says = match engine.memory().await? {
                    Some(agent) => explain::chosen::says(&agent, &explained).await?,
                    None => explain::chosen::Says::new(),
                };
                out::piece(explain::render(&explained, &says));
            }
            Err(error) => {
                out::fail(&error.into(), false);
            }
        }
        Ok(())
    }
}

/// Takes back what was said last, and tells; gives what the user had said.
async fn take_back(session: &mut Session) -> Result<Option<String>, Failure> {
    match session.take_back().await? {
        Ok(TakenBack { turn, said }) => {
            let told = format!("--- Took back turn {turn}; `neap original t{turn}` still has it ---");
            out::line(format!("{BANNER}{told}{BANNER:#}"));
            Ok(Some(said))
        }
        Err(refusal) => {
            out::line(out::clean(&refusal.error));
            if let Some(hint) = refusal.hint {
                out::line(format!("{DIM}hint:{DIM:#} {}", out::clean(&hint)));
            }
            Ok(None)
        }
    }
}

fn help() {
    let rows: Vec<Vec<String>> =
        COMMANDS.iter().map(|(name, what)| vec![format!("{BOLD}{name}{BOLD:#}"), (*what).to_owned()]).collect();
    out::piece(out::table(&["command", "what it does"], &rows));
    out::line(format!(
        "{DIM}Anything else is said to the model. Ctrl-C stops a reply, Ctrl-D ends the chat.{DIM:#}"
    ));
}

/// What the model would see, each part under the layer that pays for it.
async fn context(session: &mut Session) -> Result<(), Failure> {
    let context = session.preview(None).await?;
    let heading = |layer: Layer| {
        let tokens = context.ledger.tokens.get(layer);
        format!("{BOLD}── {} · {} tokens{BOLD:#}", layer.as_str(), thousands(tokens.0))
    };
    for (layer, text) in context.system.iter().chain(&context.records) {
        out::line(heading(*layer));
        out::line(out::clean(text.trim_end()));
    }
    out::line(heading(Layer::Tools));
    for tool in context.tools.iter() {
        out::line(json!({"type": "function", "function": tool}).to_string());
    }
    let mut layer = None;
    for placed in &context.messages {
        if layer != Some(placed.layer) {
            out::line(heading(placed.layer));
            layer = Some(placed.layer);
        }
        let message = &placed.said.message;
        out::line(format!("{DIM}{}:{DIM:#} {}", message.role.as_str(), out::clean(&message.content)));
        for call in &message.tool_calls {
            out::line(out::clean(&format!("calls {}({})", call.name, call.arguments)));
        }
    }
    let (total, budget) = (context.tokens(), context.ledger.budget);
    out::line(format!("{BOLD}── total {} of {} tokens{BOLD:#}", thousands(total.0), thousands(budget.0)));
    Ok(())
}
