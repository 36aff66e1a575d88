//! `neap mcp`: the tools for efforts and memories, for the client that started it.

use std::process::ExitCode;
use std::sync::Arc;

use crate::app;
use crate::cli::{McpArgs, ModelArgs};
use crate::env::DataDir;
use crate::mcp::{self, Desk, Place};
use crate::model;
use crate::out::Failure;

pub(crate) async fn run(data: &DataDir, args: McpArgs) -> Result<ExitCode, Failure> {
    let McpArgs { session, summary_model, base_url, api } = args;
    let session = session.map(|name| app::session_id(&name)).transpose()?;
    let mut builder = app::agent_engine(data)?;
    let at = ModelArgs { model: None, base_url, api };
    if let Some(summarizer) = model::summarizer(data, &at, summary_model)? {
        builder = builder.summarizer(summarizer);
    }
    let engine = builder.build();
    let _indexer = engine.start_indexer();
    let place = Place { session, folder: std::env::current_dir().ok(), agent: Some(data.agent().clone()) };
    mcp::serve(Arc::new(Desk::new(engine, place))).await?;
    Ok(ExitCode::SUCCESS)
}
