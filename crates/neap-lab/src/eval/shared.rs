//! Measures conversations in one store: how much the others cost each, with projects and without.

use std::sync::Arc;

use neap_core::base::project_id::ProjectId;
use neap_sqlite::SqliteStore;
use neap_store::Store;

use super::conversation_store::ConversationStore;
use super::data::Conversation;
use super::tally::EvalTally;
use super::{EvalOptions, ask};
use crate::{LabError, OnProgress};

/// How conversations share a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Each is a project, and its questions are asked within it.
    Projects,
    /// Nothing tells them apart.
    Nothing,
}

/// Records all conversations in one store, then asks the questions of each. A conversation with questions that must
/// be asked midway is recorded as it is asked, after those without.
pub fn measure_shared(
    name: &str,
    conversations: Vec<Conversation>,
    options: &EvalOptions,
    sharing: Sharing,
    progress: OnProgress<'_>,
) -> Result<EvalTally, LabError> {
    // On a thread of its own: the caller may run within a runtime.
    let measure = || -> Result<EvalTally, LabError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(measure_in_one_store(name, conversations, options, sharing, progress))
    };
    let panicked = |_| LabError::new("the thread of the measurement panicked");
    std::thread::scope(|scope| scope.spawn(measure).join()).map_err(panicked)?
}

async fn measure_in_one_store(
    name: &str,
    conversations: Vec<Conversation>,
    options: &EvalOptions,
    sharing: Sharing,
    progress: OnProgress<'_>,
) -> Result<EvalTally, LabError> {
    let folder = tempfile::tempdir()?;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("eval.db"))?);
    let (count, mut stores) = (conversations.len() as u64, Vec::new());
    for (at, conversation) in conversations.into_iter().enumerate() {
        let project = ProjectId::from_name(&format!("conversation-{at}"))?;
        let project = (sharing == Sharing::Projects).then_some(project);
        let (store, embedder) = (store.clone(), options.embedder.clone());
        let conversation = Arc::new(conversation);
        let mut recorded =
            ConversationStore::within(store, conversation.clone(), format!("c{at}-"), project, embedder);
        if conversation.questions.iter().all(|question| question.before.is_none()) {
            recorded.record_before(None).await?;
        }
        stores.push(recorded);
    }
    let mut tally = EvalTally::default();
    for (at, recorded) in stores.iter_mut().enumerate() {
        tally.turns += recorded.conversation.turns.len() as u64;
        ask::ask_all(recorded, options, &mut tally).await?;
        progress(name, at as u64 + 1, count);
    }
    let footprint = store.footprint(None).await?;
    (tally.index_bytes, tally.text_bytes) = (footprint.index, footprint.said);
    Ok(tally)
}
