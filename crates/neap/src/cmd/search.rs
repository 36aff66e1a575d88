//! `neap search`: searches messages, efforts and memories, in one session or in all.

use std::collections::BTreeSet;
use std::process::ExitCode;

use neap_core::base::ids::EffortId;
use neap_core::memory::MemoryKind;
use neap_core::recall::{Filter, RankFactors, TextKind};
use neap_engine::{EngineError, ExpectedText, Hit};

use crate::app;
use crate::cli::{SearchArgs, SearchIn};
use crate::env::DataDir;
use crate::expected;
use crate::out::{self, BOLD, DIM, Failure};
use crate::project::Asked;

pub(crate) async fn run(data: &DataDir, args: &SearchArgs, json: bool) -> Result<ExitCode, Failure> {
    let session = args.session.as_deref().map(app::parse_session_id).transpose()?;
    let engine = app::read_engine(data)?;
    if let Some(id) = &session {
        engine.attach(id).await?;
    }
    let indexed = app::index_briefly(&engine).await;
    let query = args.query.join(" ");
    let is_narrow = args.by.is_some() || args.effort.is_some();
    if is_narrow && args.place == SearchIn::Memories {
        return Err(Failure::new("memories have no speaker and no effort")
            .hint("leave out --by and --effort, or search with --in talk"));
    }
    let mut filter = Filter { kinds: text_kinds(args.place), from: args.since, ..Filter::default() };
    filter.effort = args.effort.as_deref().map(effort_id).transpose()?;
    if let Some(speaker) = &args.by {
        filter_by_speaker(speaker, &mut filter);
    }
    let asked = Asked::of(args.project.project.as_deref())?;
    filter.project = asked.filter().filter(|_| session.is_none());
    let asked_in = filter.project.clone();
    filter.streams = session.clone().map(|id| [id.into()].into());
    if let Some(id) = &args.expect {
        let text = expected::parse(id, args.session.as_deref())?;
        if matches!(text, ExpectedText::Memory(_)) {
            filter = Filter { streams: Some([data.agent().stream()].into()), kinds: None, ..filter };
        }
        let found = engine.expect(&query, filter, args.max, &text).await?;
        let scores = found.why.as_ref().map_or_else(String::new, score_text);
        return expected::print(id, &found, &scores, json);
    }
    let mut hits = Vec::new();
    if args.place != SearchIn::Memories {
        hits.extend(engine.search(&query, filter.clone(), args.max).await?);
    }
    if matches!(args.place, SearchIn::Memories | SearchIn::All) && session.is_none() && !is_narrow {
        let agent = data.agent().stream();
        let agent_filter = Filter { streams: Some([agent].into()), kinds: None, ..filter };
        hits.extend(engine.search(&query, agent_filter, args.max).await?);
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(args.max);
    }
    app::note_embed_fault(&engine, json)?;
    if let (None, Err(error @ EngineError::Embedder(_))) = (engine.embed_fault(), indexed) {
        out::print_note(&format!("new text is searched by words alone: {error}"), json)?;
    }
    if json {
        out::print_json(&hits)?;
    } else if hits.is_empty() {
        out::print_line(format!("Nothing found for \"{}\".", out::escape_control(&query)));
        out::print_line(format!(
            "{DIM}hint:{DIM:#} try a rarer word, a name or a number; `neap session efforts` lists all efforts"
        ));
    } else {
        let mut shown = String::new();
        for hit in &hits {
            let is_here = asked_in.as_ref().is_some_and(|asked| asked.matches(hit.project.as_ref()));
            let text = render(hit, session.is_none(), !is_here);
            out::print_text(&text);
            shown.push_str(&text);
            if args.explain {
                out::print_line(format!("  {DIM}{:.3} = {}{DIM:#}", hit.score, score_text(&hit.why)));
            }
        }
        out::print_masked_notice(&shown);
    }
    Ok(ExitCode::SUCCESS)
}

fn effort_id(name: &str) -> Result<EffortId, Failure> {
    EffortId::from_name(name).map_err(|error| {
        Failure::new(format!("cannot use '{}' as an effort's id: {error}", out::escape_control(name)))
            .hint("`neap session efforts` lists them")
    })
}

/// Restricts the filter to a role, or to a speaker's name.
fn filter_by_speaker(speaker: &str, filter: &mut Filter) {
    let role = match speaker.trim().to_lowercase().as_str() {
        "user" => TextKind::User,
        "assistant" => TextKind::Assistant,
        "tool" => TextKind::Tool,
        _ => {
            filter.speakers = Some([speaker.to_owned()].into());
            return;
        }
    };
    let is_included = filter.kinds.as_ref().is_none_or(|kinds| kinds.contains(&role));
    filter.kinds = Some(if is_included { [role].into() } else { BTreeSet::new() });
}

fn text_kinds(place: SearchIn) -> Option<BTreeSet<TextKind>> {
    match place {
        SearchIn::Raw => Some([TextKind::User, TextKind::Assistant, TextKind::Tool, TextKind::System].into()),
        SearchIn::Efforts => Some([TextKind::Effort].into()),
        SearchIn::Memories => Some(MemoryKind::ALL.map(TextKind::Memory).into()),
        SearchIn::Talk | SearchIn::All => None,
    }
}

fn score_text(factors: &RankFactors) -> String {
    let RankFactors {
        words,
        meaning,
        beside,
        conversation,
        speaker,
        time,
        opening,
        lately,
        here,
        file,
        decision,
        cost,
    } = factors;
    let all = [
        ("words", *words),
        ("meaning", *meaning),
        ("beside", *beside),
        ("conversation", *conversation),
        ("speaker", *speaker),
        ("time", *time),
        ("opening", *opening),
        ("lately", *lately),
        ("here", *here),
        ("file", *file),
        ("decision", *decision),
        ("cost", -cost),
    ];
    let nonzero = all.iter().filter(|(_, value)| *value != 0.0).map(|(name, value)| format!("{name} {value:.3}"));
    nonzero.collect::<Vec<_>>().join(" + ")
}

pub(crate) fn render(hit: &Hit, name_session: bool, name_project: bool) -> String {
    let mut place = hit.effort.as_ref().map_or_else(|| "ambient".to_owned(), |id| id.to_string());
    if name_session {
        place = format!("{} / {place}", hit.session);
    }
    if let Some(project) = hit.project.as_ref().filter(|_| name_project) {
        place = format!("{place} (project {project})");
    }
    if let TextKind::Memory(kind) = hit.kind {
        place = format!("memory / {kind}");
    }
    let source = match hit.turn {
        Some(turn) => format!(" {DIM}turn {turn}, {}{DIM:#}", hit.who.as_deref().unwrap_or(hit.kind.as_str())),
        None => format!(" {DIM}summary{DIM:#}"),
    };
    format!("{BOLD}{}{BOLD:#}{source}\n  {}\n", out::escape_control(&place), out::escape_control(&hit.text))
}
