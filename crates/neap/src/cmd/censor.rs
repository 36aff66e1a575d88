//! `neap memory censor`: censor rules, tried on recent texts before they take effect.

use std::process::ExitCode;

use neap_core::memory::censor::{AnalyzedText, DryRun, compile, dry_run};
use neap_core::memory::learn::Amendment;
use neap_core::memory::{Author, Body, Censor, CensorSide, Memory, MemoryId, MemoryKind};
use serde_json::json;

use crate::app;
use crate::cli::{CensorAddArgs, CensorArgs, CensorSubcommand, CensorTestArgs, MemoryFields};
use crate::env::DataDir;
use crate::memory_output::amendment;
use crate::out::{self, BOLD, DIM, Failure, GOOD, thousands};
use crate::{memory_input, memory_output};

pub(crate) async fn run(data: &DataDir, args: CensorArgs, json: bool) -> Result<ExitCode, Failure> {
    match args.what {
        CensorSubcommand::Add(args) => add(data, args, json).await,
        CensorSubcommand::List => list(data, json).await,
        CensorSubcommand::FalsePositive(args) => amend(data, args.id, Amendment::FalsePositive, json).await,
        CensorSubcommand::Retire(args) => amend(data, args.id, Amendment::Retire, json).await,
        CensorSubcommand::Test(args) => test_pattern(args, json),
    }
}

pub(crate) struct RuleTrial {
    dry_run: DryRun,
    side: CensorSide,
}

impl RuleTrial {
    pub(crate) fn print(&self) {
        let DryRun { checked, matched, samples } = &self.dry_run;
        let side = self.side.as_str().replace('_', " ");
        let texts = out::count(*checked as u64, "recent text");
        if *checked == 0 {
            out::print_line(format!("{DIM}there is no recent {side} to try it on{DIM:#}"));
        } else {
            out::print_line(format!("{DIM}tried on {texts} ({side}): {matched} matched{DIM:#}"));
        }
        for sample in samples {
            out::print_line(format!("  {DIM}{}{DIM:#}", out::shorten(sample, 100)));
        }
    }
}

/// Compiles a rule's pattern and tries it. Refuses an invalid pattern, and one that matches too much.
pub(crate) async fn try_rule(data: &DataDir, rule: &Censor, force: bool) -> Result<RuleTrial, Failure> {
    let pattern = compile(&rule.pattern).map_err(|refusal| Failure::from_refusal(&refusal))?;
    let texts =
        if app::has_store(data)? { app::read_engine(data)?.recent_texts(rule.side).await? } else { Vec::new() };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let trial = RuleTrial { dry_run: dry_run(&pattern, &texts), side: rule.side };
    trial.dry_run.check(Author::Person, force).map_err(|refusal| {
        Failure::from_refusal(&refusal.hint("make the pattern more specific, or store it anyway with --force"))
    })?;
    Ok(trial)
}

async fn add(data: &DataDir, args: CensorAddArgs, json: bool) -> Result<ExitCode, Failure> {
    let CensorAddArgs { pattern, reason, rule, tags, domain, force } = args;
    let fields = MemoryFields { reasons: vec![reason], rule, tags, domain, ..MemoryFields::default() };
    let draft = memory_input::draft(MemoryKind::Censor, pattern, fields)?;
    super::remember::store(data, draft, force, json).await
}

async fn list(data: &DataDir, json: bool) -> Result<ExitCode, Failure> {
    let agent = app::existing_agent(data).await?;
    let head = agent.head();
    let rules: Vec<&Memory> = head.censors.values().collect();
    out::print_answer(json, &rules, || {
        if rules.is_empty() {
            return format!("{DIM}No rules yet: `neap memory censor add` adds one.{DIM:#}\n");
        }
        let head = ["rule", "status", "checks", "action", "matches", "false hits", "by", "pattern", "why"];
        out::table(&head, &rules.iter().filter_map(|memory| row(memory)).collect::<Vec<_>>())
    })
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
        out::shorten(&rule.pattern.to_text(), 40),
        out::shorten(&rule.reason, 60),
    ])
}

async fn amend(data: &DataDir, id: MemoryId, how: Amendment, json: bool) -> Result<ExitCode, Failure> {
    if id.kind() != MemoryKind::Censor {
        return Err(Failure::new(format!("{id} is a {}, not a rule", id.kind()))
            .hint("`neap memory censor list` shows the rules in force"));
    }
    memory_output::run(&mut app::existing_agent(data).await?, amendment(id, how), json).await
}

fn test_pattern(args: CensorTestArgs, json: bool) -> Result<ExitCode, Failure> {
    let pattern = memory_input::pattern(args.pattern, args.regex, args.like);
    let compiled = compile(&pattern).map_err(|refusal| Failure::from_refusal(&refusal))?;
    let found = compiled.is_match(&AnalyzedText::new(&args.text));
    out::print_answer(json, &json!({"pattern": pattern, "found": found}), || {
        if found { format!("{GOOD}found{GOOD:#}\n") } else { "not found\n".to_owned() }
    })
}
