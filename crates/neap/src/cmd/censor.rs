//! `neap censor`: rules about what not to do, tried on recent texts before they are in force.

use std::process::ExitCode;

use neap_core::censor::{DryRun, Text, compile, dry_run};
use neap_core::event::{Event, Recorded};
use neap_core::learn::{Amendment, Wish};
use neap_core::memory::{Author, Body, Censor, Memory, MemoryDraft, MemoryId, Provenance, Side};
use neap_engine::Engine;
use neap_store::Stored;
use serde_json::json;

use crate::app;
use crate::cli::{CensorAddArgs, CensorArgs, CensorCommand, CensorTestArgs, Fields};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, GOOD, thousands};
use crate::{told, typed};

/// Recent texts that a new rule is tried on.
const TEXTS_MAX: usize = 50;

pub(crate) async fn run(data: &DataDir, args: CensorArgs, json: bool) -> Result<ExitCode, Failure> {
    match args.what {
        CensorCommand::Add(args) => add(data, args, json).await,
        CensorCommand::List => list(data, json).await,
        CensorCommand::FalsePositive(args) => amend(data, args.id, Amendment::FalsePositive, json).await,
        CensorCommand::Retire(args) => amend(data, args.id, Amendment::Retire, json).await,
        CensorCommand::Test(args) => test(args, json),
    }
}

/// What a rule found in recent texts of its side.
pub(crate) struct Tried {
    run: DryRun,
    side: Side,
}

impl Tried {
    pub(crate) fn print(&self) {
        let DryRun { checked, matched, samples } = &self.run;
        let side = self.side.as_str().replace('_', " ");
        let texts = out::count(*checked as u64, "recent text");
        if *checked == 0 {
            out::line(format!("{DIM}there is no recent {side} to try it on{DIM:#}"));
        } else {
            out::line(format!("{DIM}tried on {texts} ({side}): found in {matched}{DIM:#}"));
        }
        for sample in samples {
            out::line(format!("  {DIM}{}{DIM:#}", out::shorten(sample, 100)));
        }
    }
}

/// Compiles a rule's pattern and tries it; one that cannot be meant, or that finds too much, is refused.
pub(crate) async fn try_out(data: &DataDir, rule: &Censor, force: bool) -> Result<Tried, Failure> {
    let pattern = compile(&rule.pattern).map_err(|refusal| Failure::refused(&refusal))?;
    let texts = if app::has_store(data)? { recent(&app::reader(data)?, rule.side).await? } else { Vec::new() };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let tried = Tried { run: dry_run(&pattern, &texts), side: rule.side };
    tried.run.judge(Author::Person, force).map_err(|refusal| {
        Failure::refused(&refusal.hint("name what is peculiar to the matter; --force writes it all the same"))
    })?;
    Ok(tried)
}

/// What was said of late on a side, in any session, newest sessions first.
async fn recent(engine: &Engine, side: Side) -> Result<Vec<String>, Failure> {
    let kind = match side {
        Side::Input => "turn_started",
        Side::Output => "turn_completed",
        Side::ToolCall => "tools_called",
    };
    let mut sessions = engine.sessions().await?;
    sessions.sort_by_key(|info| std::cmp::Reverse(info.updated));
    let mut texts = Vec::new();
    for info in sessions.iter().filter(|info| !info.scrubbed) {
        let left = TEXTS_MAX - texts.len();
        if left == 0 {
            break;
        }
        let events = engine.store().events_of(&info.session, &[kind], None, left).await?;
        texts.extend(events.iter().flat_map(said));
        texts.truncate(TEXTS_MAX);
    }
    Ok(texts)
}

fn said(stored: &Stored) -> Vec<String> {
    let Stored::Event(Recorded { event, .. }) = stored else { return Vec::new() };
    if let Event::TurnStarted { message: said, .. } | Event::TurnCompleted { reply: said, .. } = event {
        return vec![said.message.content.to_string()];
    }
    if let Event::ToolsCalled { round, .. } = event {
        let calls = round.assistant.message.tool_calls.iter();
        return calls.map(|call| format!("{} {}", call.name, call.arguments)).collect();
    }
    Vec::new()
}

async fn add(data: &DataDir, args: CensorAddArgs, json: bool) -> Result<ExitCode, Failure> {
    let CensorAddArgs { pattern, reason, rule, tags, domain, force } = args;
    let fields = Fields { reasons: vec![reason], rule, tags, domain, ..Fields::default() };
    let draft = typed::draft(neap_core::memory::MemoryKind::Censor, pattern, fields)?;
    write(data, draft, force, json).await
}

/// Tries a rule, then writes it.
pub(crate) async fn write(
    data: &DataDir,
    mut draft: MemoryDraft,
    force: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    draft.provenance = Provenance::of(Author::Person);
    let Body::Censor(rule) = &draft.body else { unreachable!("only a rule is written here") };
    let tried = try_out(data, rule, force).await?;
    if !json {
        tried.print();
    }
    let mut agent = app::agent(data).await?;
    let answer = agent.ask(Wish::Remember(Box::new(draft))).await?;
    told::tell(&agent, answer, json).await
}

async fn list(data: &DataDir, json: bool) -> Result<ExitCode, Failure> {
    let agent = app::known_agent(data).await?;
    let head = agent.head();
    let rules: Vec<&Memory> = head.censors.values().collect();
    if json {
        out::json_line(&rules)?;
    } else if rules.is_empty() {
        out::line(format!("{DIM}No rules yet: `neap censor add` writes one.{DIM:#}"));
    } else {
        out::piece(out::table(
            &["rule", "status", "looks at", "action", "found", "wrongly", "by", "looks for", "why"],
            &rules.iter().filter_map(|memory| row(memory)).collect::<Vec<_>>(),
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn row(memory: &Memory) -> Option<Vec<String>> {
    let Body::Censor(rule) = &memory.body else { return None };
    Some(vec![
        format!("{BOLD}{}{BOLD:#}", memory.id),
        if memory.is_proposal() { "proposed".to_owned() } else { memory.status.as_str().to_owned() },
        rule.side.as_str().replace('_', " "),
        rule.action.as_str().to_owned(),
        thousands(rule.triggers.into()),
        thousands(rule.false_positives.into()),
        memory.provenance.author.as_str().to_owned(),
        out::shorten(&told::looks_for(&rule.pattern), 40),
        out::shorten(&rule.reason, 60),
    ])
}

async fn amend(data: &DataDir, id: MemoryId, how: Amendment, json: bool) -> Result<ExitCode, Failure> {
    if id.kind() != neap_core::memory::MemoryKind::Censor {
        return Err(Failure::new(format!("{id} is a {}, not a rule", id.kind()))
            .hint("`neap censor list` shows the rules in force"));
    }
    let mut agent = app::known_agent(data).await?;
    let answer = agent.ask(Wish::Amend { id, how, by: Provenance::of(Author::Person) }).await?;
    told::tell(&agent, answer, json).await
}

fn test(args: CensorTestArgs, json: bool) -> Result<ExitCode, Failure> {
    let pattern = typed::pattern(args.pattern, args.regex, args.like);
    let compiled = compile(&pattern).map_err(|refusal| Failure::refused(&refusal))?;
    let found = compiled.is_match(&Text::new(&args.text));
    if json {
        out::json_line(&json!({"pattern": pattern, "found": found}))?;
    } else if found {
        out::line(format!("{GOOD}found{GOOD:#}"));
    } else {
        out::line("not found");
    }
    Ok(ExitCode::SUCCESS)
}
