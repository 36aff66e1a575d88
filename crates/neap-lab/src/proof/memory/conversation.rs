//! A conversation of forty turns: measures how often the loaded memories are chosen anew.

use std::path::Path;
use std::sync::Arc;

use neap_core::base::ids::SessionId;
use neap_engine::{Author, NullObserver, SessionOptions};
use neap_model::scripted::ScriptedModel;
use neap_sqlite::SqliteStore;

use super::corpus::Corpus;
use super::questions::conversation;
use super::{Rows, measure, percent_of};
use crate::LabError;

pub(super) async fn measure_refresh(rows: &mut Rows<'_>, path: &Path, corpus: &Corpus) -> Result<(), LabError> {
    let model = Arc::new(ScriptedModel::new());
    let engine = measure::build_engine(Arc::new(SqliteStore::open(path)?), model.clone())?;
    let mut session = engine.resume(&SessionId::from_name("talk")?, &SessionOptions::default()).await?;
    let messages = conversation(&corpus.topics);
    let mut over = 0;
    for question in &messages {
        model.push_turn(Vec::<(String, String)>::new(), &question.reply(corpus));
        let ledger = session.turn(Author::Person, question.text, &mut NullObserver).await?.ledger;
        over += usize::from(ledger.tokens.total() > ledger.budget);
    }
    let figures = &session.state().head().metrics.memories;
    let turns = messages.len() as u64;
    let rate = figures.refreshes as f64 / turns as f64;
    rows.proof.add_row(
        "refresh",
        format!("what is loaded is chosen anew, in {turns} turns about 6 matters"),
        rows.expectation("< 0.3 a turn, no turn over budget"),
        format!("{rate:.3} a turn ({} of {turns}), {over} over", figures.refreshes),
        (rate < 0.3 || !rows.is_whole) && over == 0,
    );
    // Reported only: scripted replies say little about which memories a model would use.
    let used = percent_of(figures.items_used, figures.items);
    rows.proof.add_row(
        "used",
        "items that a reply of the conversation made use of",
        "reported, not judged (target > 40 %)",
        format!("{used:.1} % of {}", figures.items),
        true,
    );
    Ok(())
}
