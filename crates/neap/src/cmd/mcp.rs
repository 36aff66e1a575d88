//! `neap mcp`: serves the MCP tools to the client that started it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use neap_engine::Engine;
use neap_server::mcp::{self, McpState, ServerDefaults};

use super::hook;
use crate::app;
use crate::cli::{McpArgs, ModelArgs};
use crate::embedder;
use crate::env::DataDir;
use crate::files;
use crate::heard;
use crate::model;
use crate::out::Failure;
use crate::project::Asked;

const LOCK_RETRY_INTERVAL: Duration = Duration::from_secs(3);

pub(crate) async fn run(data: &DataDir, args: McpArgs) -> Result<ExitCode, Failure> {
    let McpArgs { session, host, project, user_words, summary_model, base_url, api } = args;
    let session = session.map(|name| app::parse_session_id(&name)).transpose()?;
    let project = Asked::of(project.as_deref())?.project();
    let mut builder = embedder::with_hook_timeout(app::agent_engine_builder(data)?).project(project);
    let model_args = ModelArgs { model: None, base_url, api };
    if let Some(summarizer) = model::summarizer(data, &model_args, summary_model)? {
        builder = builder.summarizer(summarizer);
    }
    let engine = builder.build();
    let duties = tokio::spawn(run_store_duties(engine.clone(), data.clone()));
    let defaults =
        ServerDefaults { session, folder: std::env::current_dir().ok(), agent: Some(data.agent().clone()) };
    let mut state = McpState::new(engine, defaults, user_words.into());
    if let Some(host) = host {
        let data = data.clone();
        state = state.on_request(move || heard::note(&data, &host));
    }
    let result = mcp::serve(Arc::new(state)).await;
    duties.abort();
    result?;
    Ok(ExitCode::SUCCESS)
}

/// Runs what only one process per store does: embedding new text and serving hooks. When that process ends,
/// another takes over.
async fn run_store_duties(engine: Engine, data: DataDir) {
    let lock = loop {
        match files::try_lock(&data.index_lock()) {
            Some(lock) => break lock,
            None => tokio::time::sleep(LOCK_RETRY_INTERVAL).await,
        }
    };
    let _indexer = engine.start_indexer();
    hook::record_pending(&data, &engine).await;
    hook::daemon::listen(&data, &engine).await;
    std::future::pending::<()>().await;
    drop(lock);
}
