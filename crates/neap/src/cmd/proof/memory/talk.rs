//! A conversation of forty turns over what is known: how often what is loaded is chosen anew.

use std::path::Path;
use std::sync::Arc;

use neap_core::ids::SessionId;
use neap_engine::{Author, Quiet, SessionOptions};
use neap_model::scripted::Scripted;
use neap_store::SqliteStore;

use super::corpus::Corpus;
use super::questions::talk;
use super::{judge, judged, percent_of};
use crate::cmd::proof::Proof;
use crate::out::Failure;

/// Has the conversation.
pub(super) async fn converse(
    proof: &mut Proof,
    path: &Path,
    corpus: &Corpus,
    is_whole: bool,
) -> Result<(), Failure> {
    let model = Arc::new(Scripted::new());
    let engine = judge::engine(Arc::new(SqliteStore::open(path)?), model.clone())?;
    let id = SessionId::from_name("talk").map_err(|error| Failure::new(error.to_string()))?;
    let mut session = engine.resume(&id, &SessionOptions::default()).await?;
    let said = talk(&corpus.topics);
    let mut over = 0;
    for asked in &said {
        model.push_turn(Vec::<(String, String)>::new(), &asked.reply(corpus));
        let ledger = session.turn(Author::Person, asked.text, &mut Quiet).await?.ledger;
        over += usize::from(ledger.tokens.total() > ledger.budget);
    }
    let figures = &session.state().head().metrics.memories;
    let turns = said.len() as u64;
    let rate = figures.refreshes as f64 / turns as f64;
    proof.row(
        "refresh",
        format!("what is loaded is chosen anew, in {turns} turns about 6 matters"),
        judged("< 0.3 a turn, no turn over budget", is_whole),
        format!("{rate:.3} a turn ({} of {turns}), {over} over", figures.refreshes),
        (rate < 0.3 || !is_whole) && over == 0,
    );
    // What these scripted replies repeat says little of what a model would use: told, beside the seed's aim.
    let used = percent_of(figures.items_used, figures.items);
    proof.row(
        "used",
        "items that a reply of the conversation made use of",
        "told, not judged (aim > 40 %)",
        format!("{used:.1} % of {}", figures.items),
        true,
    );
    Ok(())
}
