//! Slash commands.

use neap_core::base::ledger::Layer;
use neap_core::recall::Filter;
use neap_engine::{Engine, Session, UndoneTurn};
use serde_json::json;

use super::memory_commands;
use super::screen::Screen;
use crate::cmd::{efforts, explain, report, search};
use crate::out::{self, BANNER, BOLD, DIM, Failure, thousands};

const HITS_MAX: usize = 8;

pub(super) const COMMANDS: [(&str, &str); 18] = [
    ("/status", "show this session's figures: tokens, savings, decay"),
    ("/efforts", "list all efforts, their state and their cost"),
    ("/search", "WORDS: search efforts and messages"),
    ("/open", "NAME: begin an effort; what you say next belongs to it"),
    ("/expand", "ID: bring a concluded effort's log back into the context"),
    ("/collapse", "ID: collapse an expanded effort to its summary"),
    ("/switch", "ID: make another open effort the active one"),
    ("/close", "[ID]: conclude an effort"),
    ("/reopen", "ID: go on with a concluded effort"),
    ("/undo", "undo the last turn: it leaves the context and the search, but stays stored"),
    ("/retry", "[TEXT]: undo the last turn and send its message again, or send TEXT instead"),
    ("/context", "show exactly what the model would see, by layer"),
    ("/remember", "TEXT: store a memory for every conversation"),
    ("/recall", "WORDS: search the agent's memories"),
    ("/decide", "TEXT --confidence 0.8: record a decision"),
    ("/why", "[TURN]: show what a turn's context contained and why, memories with their scores"),
    ("/help", "show this list"),
    ("/quit", "end the chat; everything is stored"),
];

/// Words that are commands without a slash.
const BARE_WORDS: [(&str, &str); 3] = [("help", "/help"), ("quit", "/quit"), ("exit", "/quit")];

pub(super) enum AfterCommand {
    Continue,
    /// The command does not exist, and its text was not sent.
    UnknownCommand,
    Say(String),
    Quit,
}

pub(super) struct Command<'a> {
    name: &'a str,
    argument: &'a str,
}

impl<'a> Command<'a> {
    /// A slash followed by letters is a command, and so are the words that every program knows, if they stand alone.
    /// With a space before it, the text is sent as it is.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let bare = text.trim_end_matches(['!', '.', '?', ' ']).to_ascii_lowercase();
        if let Some((_, name)) = BARE_WORDS.iter().find(|(word, _)| *word == bare) {
            return Some(Self { name, argument: "" });
        }
        if !text.starts_with('/') {
            return None;
        }
        let name = text.split_whitespace().next()?;
        let word = name.strip_prefix('/')?;
        let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic());
        is_word.then(|| Self { name, argument: text[name.len()..].trim() })
    }

    pub(super) async fn run(
        &self,
        engine: &Engine,
        session: &mut Session,
        screen: &mut Screen,
    ) -> Result<AfterCommand, Failure> {
        match self.name {
            "/status" => out::print_text(report::render(&session.report(), screen.has_prices())),
            "/efforts" => out::print_text(efforts::render(session.state())),
            "/search" => self.search(engine, session).await?,
            "/open" if self.argument.is_empty() => {
                out::print_line("Give the effort a name, e.g. /open slow dashboard.");
            }
            "/open" => self.call_tool(session, screen, "open_effort", "name").await?,
            "/reopen" => self.call_tool(session, screen, "reopen_effort", "id").await?,
            "/expand" => self.call_tool(session, screen, "expand_effort", "id").await?,
            "/collapse" => self.call_tool(session, screen, "collapse_effort", "id").await?,
            "/switch" => self.call_tool(session, screen, "switch_effort", "id").await?,
            "/close" => self.call_tool(session, screen, "close_effort", "id").await?,
            "/undo" => {
                undo_turn(session).await?;
            }
            "/retry" => {
                let undone = undo_turn(session).await?;
                let text =
                    if self.argument.is_empty() { undone } else { undone.map(|_| self.argument.to_owned()) };
                return Ok(text.map_or(AfterCommand::Continue, AfterCommand::Say));
            }
            "/context" => print_context(session).await?,
            "/remember" => memory_commands::remember(engine, session, self.argument).await?,
            "/recall" => memory_commands::recall(engine, session, self.argument).await?,
            "/decide" => memory_commands::decide(engine, session, self.argument).await?,
            "/why" => self.why(engine, session).await?,
            "/help" => print_help(),
            "/quit" | "/exit" => return Ok(AfterCommand::Quit),
            other => {
                out::print_line(format!("There is no command {}.", out::escape_control(other)));
                out::print_line(format!(
                    "{DIM}hint:{DIM:#} /help lists the commands; begin with a space to send the line as a message"
                ));
                return Ok(AfterCommand::UnknownCommand);
            }
        }
        Ok(AfterCommand::Continue)
    }

    async fn search(&self, engine: &Engine, session: &Session) -> Result<(), Failure> {
        if self.argument.is_empty() {
            out::print_line("Give the words to search for, e.g. /search login timeout.");
            return Ok(());
        }
        let hits = engine.search(self.argument, Filter::for_stream(session.id()), HITS_MAX).await?;
        if hits.is_empty() {
            out::print_line(format!("Nothing found for \"{}\".", out::escape_control(self.argument)));
        }
        for hit in &hits {
            out::print_text(search::render(hit, false, true));
        }
        Ok(())
    }

    /// `field` is the name of the tool's argument.
    async fn call_tool(
        &self,
        session: &mut Session,
        screen: &mut Screen,
        tool: &str,
        field: &str,
    ) -> Result<(), Failure> {
        let arguments = if self.argument.is_empty() { json!({}) } else { json!({field: self.argument}) };
        let outcome = session.command(tool, &arguments.to_string(), screen).await?;
        if let Some(banner) = outcome.banner {
            out::print_line(format!("{BANNER}{}{BANNER:#}", out::escape_control(&banner.to_string())));
        }
        if let Some(refusal) = outcome.refusal {
            out::print_line(out::escape_control(&refusal));
            out::print_line(format!("{DIM}hint:{DIM:#} /efforts lists the ids and states of all efforts"));
        }
        Ok(())
    }

    async fn why(&self, engine: &Engine, session: &Session) -> Result<(), Failure> {
        let turn = match self.argument {
            "" if session.state().turn().0 == 0 => {
                out::print_line("There is no turn to explain yet.");
                return Ok(());
            }
            "" => session.state().turn().0,
            text => match text.parse() {
                Ok(turn) => turn,
                Err(_) => {
                    out::print_line("Give the number of a turn, e.g. /why 3.");
                    return Ok(());
                }
            },
        };
        match engine.explain(session.id(), Some(neap_core::base::ids::TurnNo(turn))).await {
            Ok(explained) => {
                let texts = match engine.agent().await? {
                    Some(agent) => explain::loaded_memories::load_texts(&agent, &explained).await?,
                    None => explain::loaded_memories::MemoryTexts::new(),
                };
                out::print_text(explain::render(&explained, &texts));
            }
            Err(error) => {
                out::print_failure(&error.into(), false);
            }
        }
        Ok(())
    }
}

/// Undoes the last turn and reports it; returns the user's text.
async fn undo_turn(session: &mut Session) -> Result<Option<String>, Failure> {
    match session.undo_turn().await? {
        Ok(UndoneTurn { turn, user_text }) => {
            let notice = format!("--- Undid turn {turn}; `neap session original t{turn}` still shows it ---");
            out::print_line(format!("{BANNER}{notice}{BANNER:#}"));
            Ok(Some(user_text))
        }
        Err(refusal) => {
            out::print_line(out::escape_control(&refusal.error));
            if let Some(hint) = refusal.hint {
                out::print_line(format!("{DIM}hint:{DIM:#} {}", out::escape_control(&hint)));
            }
            Ok(None)
        }
    }
}

fn print_help() {
    let rows: Vec<Vec<String>> = COMMANDS
        .iter()
        .map(|(name, description)| vec![format!("{BOLD}{name}{BOLD:#}"), (*description).to_owned()])
        .collect();
    out::print_text(out::table(&["command", "what it does"], &rows));
    out::print_line(format!(
        "{DIM}Anything else goes to the model. Ctrl-C stops a reply, Ctrl-D ends the chat.{DIM:#}"
    ));
}

async fn print_context(session: &mut Session) -> Result<(), Failure> {
    let context = session.preview(None).await?;
    let heading = |layer: Layer| {
        let tokens = context.ledger.tokens.get(layer);
        format!("{BOLD}── {} · {} tokens{BOLD:#}", layer.as_str(), thousands(tokens.0))
    };
    for (layer, text) in context.system.iter().chain(&context.records) {
        out::print_line(heading(*layer));
        out::print_line(out::escape_control(text.trim_end()));
    }
    out::print_line(heading(Layer::Tools));
    for tool in context.tools.iter() {
        out::print_line(json!({"type": "function", "function": tool}).to_string());
    }
    let mut layer = None;
    for placed in &context.messages {
        if layer != Some(placed.layer) {
            out::print_line(heading(placed.layer));
            layer = Some(placed.layer);
        }
        let message = &placed.counted.message;
        out::print_line(format!(
            "{DIM}{}:{DIM:#} {}",
            message.role.as_str(),
            out::escape_control(&message.content)
        ));
        for call in &message.tool_calls {
            out::print_line(out::escape_control(&format!("calls {}({})", call.name, call.arguments)));
        }
    }
    let (total, budget) = (context.tokens(), context.ledger.budget);
    out::print_line(format!("{BOLD}── total {} of {} tokens{BOLD:#}", thousands(total.0), thousands(budget.0)));
    Ok(())
}
