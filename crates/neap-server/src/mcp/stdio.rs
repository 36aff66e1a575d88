//! The MCP server over standard input and output, as clients start it.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;

use super::stdio_transport::StdioTransport;
use super::{McpState, Server};
use crate::ServerError;

/// Serves until the client disconnects, which it may do before it initializes.
pub async fn serve(state: Arc<McpState>) -> Result<(), ServerError> {
    let (read, write) = stdio_pipes();
    let serving = match Server::new(state.clone()).serve(StdioTransport::new(read, write)).await {
        Ok(serving) => serving,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServerError::new(format!("the client does not speak MCP: {error}"))),
    };
    serving.waiting().await.map_err(|error| ServerError::new(error.to_string()))?;
    state.engine.flush().await;
    Ok(())
}
