//! The server that a client starts, over standard input and output.

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;

use super::lines::Lines;
use super::{Desk, Server};
use crate::out::Failure;

/// Serves until the client goes. One that never says what it wants is no failure.
pub(crate) async fn serve(desk: Arc<Desk>) -> Result<(), Failure> {
    let (read, write) = stdio_pipes();
    let serving = match Server::new(desk.clone()).serve(Lines::new(read, write)).await {
        Ok(serving) => serving,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Failure::new(format!("the client does not speak MCP: {error}"))),
    };
    serving.waiting().await.map_err(|error| Failure::new(error.to_string()))?;
    desk.engine.flush().await;
    Ok(())
}
