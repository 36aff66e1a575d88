//! `neap mcp`: the tools for efforts and memories, for the client that started it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use neap_engine::Engine;

use crate::app;
use crate::cli::{McpArgs, ModelArgs};
use crate::env::DataDir;
use crate::files;
use crate::mcp::{self, Desk, Place};
use crate::model;
use crate::out::Failure;

/// How often it is looked whether the one who embeds is gone.
const LOOK_EVERY: Duration = Duration::from_secs(3);

pub(crate) async fn run(data: &DataDir, args: McpArgs) -> Result<ExitCode, Failure> {
    let McpArgs { session, summary_model, base_url, api } = args;
    let session = session.map(|name| app::session_id(&name)).transpose()?;
    let mut builder = app::agent_engine(data)?;
    let at = ModelArgs { model: None, base_url, api };
    if let Some(summarizer) = model::summarizer(data, &at, summary_model)? {
        builder = builder.summarizer(summarizer);
    }
    let engine = builder.build();
    let indexing = tokio::spawn(index(engine.clone(), data.index_lock()));
    let place = Place { session, folder: std::env::current_dir().ok(), agent: Some(data.agent().clone()) };
    let served = mcp::serve(Arc::new(Desk::new(engine, place))).await;
    indexing.abort();
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Embeds what was said, unless another process on the same store does; when that one ends, one of the others goes on.
async fn index(engine: Engine, lock: PathBuf) {
    let held = loop {
        match files::try_lock(&lock) {
            Some(held) => break held,
            None => tokio::time::sleep(LOOK_EVERY).await,
        }
    };
    let _indexer = engine.start_indexer();
    std::future::pending::<()>().await;
    drop(held);
}
