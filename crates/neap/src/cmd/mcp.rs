//! `neap mcp`: the tools for efforts and memories, for the client that started it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use neap_engine::Engine;

use super::hook;
use crate::app;
use crate::cli::{McpArgs, ModelArgs};
use crate::embedder;
use crate::env::DataDir;
use crate::files;
use crate::mcp::{self, Desk, Place};
use crate::model;
use crate::out::Failure;

/// How often it is looked whether the one on duty is gone.
const LOOK_EVERY: Duration = Duration::from_secs(3);

pub(crate) async fn run(data: &DataDir, args: McpArgs) -> Result<ExitCode, Failure> {
    let McpArgs { session, user_words, summary_model, base_url, api } = args;
    let session = session.map(|name| app::session_id(&name)).transpose()?;
    let mut builder = embedder::in_a_hurry(app::agent_engine(data)?);
    let at = ModelArgs { model: None, base_url, api };
    if let Some(summarizer) = model::summarizer(data, &at, summary_model)? {
        builder = builder.summarizer(summarizer);
    }
    let engine = builder.build();
    let duty = tokio::spawn(duty(engine.clone(), data.clone()));
    let place = Place { session, folder: std::env::current_dir().ok(), agent: Some(data.agent().clone()) };
    let served = mcp::serve(Arc::new(Desk::new(engine, place, user_words.into()))).await;
    duty.abort();
    served?;
    Ok(ExitCode::SUCCESS)
}

/// What one process does for all on the same store: it embeds what was said, and answers hooks. When that one ends, one of the others
/// goes on.
async fn duty(engine: Engine, data: DataDir) {
    let held = loop {
        match files::try_lock(&data.index_lock()) {
            Some(held) => break held,
            None => tokio::time::sleep(LOOK_EVERY).await,
        }
    };
    let _indexer = engine.start_indexer();
    hook::record_waiting(&data, &engine).await;
    hook::line::listen(&data, &engine).await;
    std::future::pending::<()>().await;
    drop(held);
}
