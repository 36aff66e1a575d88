//! `neap search`: what was done and said, in one session or in all, and what the agent knows.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use neap_core::ids::EffortId;
use neap_core::memory::MemoryKind;
use neap_core::recall::{Filter, TextKind, Why};
use neap_engine::{EngineError, Hit};
use serde_json::json;

use crate::app;
use crate::cli::{Place, SearchArgs};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure};

/// How long a search waits for what is not embedded yet.
const INDEX_LIMIT: Duration = Duration::from_millis(500);

pub(crate) async fn run(data: &DataDir, args: &SearchArgs, json: bool) -> Result<ExitCode, Failure> {
    let session = args.session.as_deref().map(app::session_id).transpose()?;
    let engine = app::reader(data)?;
    if let Some(id) = &session {
        engine.attach(id).await?;
    }
    // What was said a moment ago may not be embedded yet; a few texts are quickly done, and where nothing can be written, words find.
    let indexed = tokio::time::timeout(INDEX_LIMIT, engine.index_all()).await;
    let query = args.query.join(" ");
    let is_narrow = args.by.is_some() || args.effort.is_some();
    if is_narrow && args.place == Place::Memories {
        return Err(Failure::new("what the agent knows is of no speaker and of no effort")
            .hint("leave out --by and --effort, or search with --in talk"));
    }
    let mut filter = Filter { kinds: kinds(args.place), from: args.since, ..Filter::default() };
    filter.effort = args.effort.as_deref().map(effort_id).transpose()?;
    if let Some(who) = &args.by {
        said_by(who, &mut filter);
    }
    filter.streams = session.clone().map(|id| [id].into());
    let mut hits = Vec::new();
    if args.place != Place::Memories {
        hits.extend(engine.search(&query, filter.clone(), args.max).await?);
    }
    if matches!(args.place, Place::Memories | Place::All) && session.is_none() && !is_narrow {
        let agent = data.agent().stream();
        let of_agent = Filter { streams: Some([agent].into()), kinds: None, ..filter };
        hits.extend(engine.search(&query, of_agent, args.max).await?);
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(args.max);
    }
    if let Some(why) = engine.meaning_fault() {
        note(&format!("searched by words alone: {why}"), json)?;
    } else if let Ok(Err(error @ EngineError::Embedder(_))) = indexed {
        note(&format!("what is new is searched by words alone: {error}"), json)?;
    }
    if json {
        out::json_line(&hits)?;
    } else if hits.is_empty() {
        out::line(format!("Nothing found for \"{}\".", out::clean(&query)));
        out::line(format!(
            "{DIM}hint:{DIM:#} try a rarer word, a name or a number; `neap efforts` lists all efforts"
        ));
    } else {
        let mut shown = String::new();
        for hit in &hits {
            let text = render(hit, session.is_none());
            out::piece(&text);
            shown.push_str(&text);
            if args.explain {
                out::line(format!("  {DIM}{:.3} = {}{DIM:#}", hit.score, reasons(&hit.why)));
            }
        }
        out::tell_masked(&shown);
    }
    Ok(ExitCode::SUCCESS)
}

/// Says on standard error what the answer does not tell.
fn note(text: &str, json: bool) -> Result<(), Failure> {
    let text = out::clean(text);
    out::aside(if json { out::json_text(&json!({ "note": text }))? } else { format!("note: {text}") });
    Ok(())
}

fn effort_id(name: &str) -> Result<EffortId, Failure> {
    EffortId::from_name(name).map_err(|error| {
        Failure::new(format!("cannot use '{}' as an effort's id: {error}", out::clean(name)))
            .hint("`neap efforts` lists them")
    })
}

/// Leaves what somebody said: one of the sides of a conversation, or whoever has this name.
fn said_by(who: &str, filter: &mut Filter) {
    let side = match who.trim().to_lowercase().as_str() {
        "user" => TextKind::User,
        "assistant" => TextKind::Assistant,
        "tool" => TextKind::Tool,
        _ => {
            filter.who = Some([who.to_owned()].into());
            return;
        }
    };
    let is_there = filter.kinds.as_ref().is_none_or(|kinds| kinds.contains(&side));
    filter.kinds = Some(if is_there { [side].into() } else { BTreeSet::new() });
}

/// The kinds of text that are in a place.
fn kinds(place: Place) -> Option<BTreeSet<TextKind>> {
    match place {
        Place::Raw => Some([TextKind::User, TextKind::Assistant, TextKind::Tool, TextKind::System].into()),
        Place::Efforts => Some([TextKind::Effort].into()),
        Place::Memories => Some(MemoryKind::ALL.map(TextKind::Memory).into()),
        Place::Talk | Place::All => None,
    }
}

/// What a score is the sum of, in words.
fn reasons(why: &Why) -> String {
    let Why { words, meaning, beside, conversation, speaker, time, opening, lately, here, cost } = why;
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
        ("cost", -cost),
    ];
    let some = all.iter().filter(|(_, value)| *value != 0.0).map(|(name, value)| format!("{name} {value:.3}"));
    some.collect::<Vec<_>>().join(" + ")
}

/// A hit for people: where, then what.
pub(crate) fn render(hit: &Hit, name_session: bool) -> String {
    let mut place = hit.effort.as_ref().map_or_else(|| "ambient".to_owned(), |id| id.to_string());
    if name_session {
        place = format!("{} / {place}", hit.session);
    }
    if let TextKind::Memory(kind) = hit.kind {
        place = format!("memory / {kind}");
    }
    let said = match hit.turn {
        Some(turn) => format!(" {DIM}turn {turn}, {}{DIM:#}", hit.who.as_deref().unwrap_or(hit.kind.as_str())),
        None => format!(" {DIM}summary{DIM:#}"),
    };
    format!("{BOLD}{}{BOLD:#}{said}\n  {}\n", out::clean(&place), out::clean(&hit.text))
}
