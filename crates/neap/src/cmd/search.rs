//! `neap search`: searches messages, efforts and memories, in one session or in all.

use std::process::ExitCode;

use neap_core::base::ids::EffortId;
use neap_core::base::refusal::Refusal;
use neap_core::recall::{RankFactors, TextKind};
use neap_engine::{EngineError, ExpectedText, Hit, SearchRequest};

use crate::app;
use crate::cli::SearchArgs;
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
    let asked_in = Asked::of(args.project.project.as_deref())?.filter().filter(|_| session.is_none());
    let request = SearchRequest {
        query: args.query.join(" "),
        part: args.place.into(),
        session: session.clone(),
        by: args.by.clone(),
        effort: args.effort.as_deref().map(effort_id).transpose()?,
        since: args.since,
        project: asked_in.clone(),
        max: args.max,
    };
    request.check().map_err(wrong_usage)?;
    let indexed = app::index_briefly(&engine).await;
    if let Some(id) = &args.expect {
        let text = ExpectedText::parse(id, session.as_ref()).map_err(wrong_usage)?;
        let found = engine.find_expected(&request, data.agent(), &text).await?;
        let scores = found.why.as_ref().map_or_else(String::new, score_text);
        return expected::print(id, &found, &scores, json);
    }
    let hits = engine.find(&request, data.agent()).await?;
    app::note_embed_fault(&engine, json)?;
    if let (None, Err(error @ EngineError::Embedder(_))) = (engine.embed_fault(), indexed) {
        out::print_note(&format!("new text is searched by words alone: {error}"), json)?;
    }
    if json {
        out::print_json(&hits)?;
    } else if hits.is_empty() {
        out::print_line(format!("Nothing found for \"{}\".", out::escape_control(&request.query)));
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

fn wrong_usage(refusal: Refusal) -> Failure {
    Failure::new(refusal.error).hint(refusal.hint.unwrap_or_default())
}

fn effort_id(name: &str) -> Result<EffortId, Failure> {
    EffortId::from_name(name).map_err(|error| {
        Failure::new(format!("cannot use '{}' as an effort's id: {error}", out::escape_control(name)))
            .hint("`neap session efforts` lists them")
    })
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
