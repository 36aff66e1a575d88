//! JSON-RPC over standard input and output, one message per line.
//!
//! An unreadable line gets a JSON-RPC error, and reading continues. Memory is bounded: a longer line is skipped.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcError, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

/// Longest message: the longest text that is stored, escaped, plus its envelope.
pub(super) const LINE_BYTES_MAX: usize = 20 << 20;
/// Byte order mark that some programs write first.
const BOM: &[u8] = b"\xEF\xBB\xBF";

pub(super) struct StdioTransport<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    is_skipping: bool,
    /// Whether a request has arrived; other messages before the first are ignored.
    has_request: bool,
    write: Arc<Mutex<W>>,
}

enum LineRead {
    Line,
    TooLong,
    End,
}

pub(super) enum ParsedLine {
    Message(Box<ClientJsonRpcMessage>),
    Invalid(Box<JsonRpcError>),
    Ignored,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> StdioTransport<R, W> {
    pub(super) fn new(read: R, write: W) -> Self {
        let write = Arc::new(Mutex::new(write));
        Self { read: BufReader::new(read), line: Vec::new(), is_skipping: false, has_request: false, write }
    }

    /// Reads to the end of a line. Cancel-safe.
    async fn read_line(&mut self) -> std::io::Result<LineRead> {
        loop {
            let (used, is_end) = {
                let bytes = self.read.fill_buf().await?;
                if bytes.is_empty() {
                    // The last line may lack its newline.
                    let is_left = !self.line.is_empty() && !self.is_skipping;
                    return Ok(if is_left { LineRead::Line } else { LineRead::End });
                }
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let used = end.map_or(bytes.len(), |at| at + 1);
                if !self.is_skipping {
                    self.line.extend_from_slice(&bytes[..used]);
                }
                (used, end.is_some())
            };
            self.read.consume(used);
            let was_skipping = std::mem::take(&mut self.is_skipping) && !is_end;
            if was_skipping {
                self.is_skipping = true;
            } else if self.line.len() > LINE_BYTES_MAX {
                self.line.clear();
                self.is_skipping = !is_end;
                return Ok(LineRead::TooLong);
            } else if is_end && !self.line.is_empty() {
                return Ok(LineRead::Line);
            }
        }
    }
}

async fn write_message<W: AsyncWrite + Unpin>(
    write: &Mutex<W>,
    message: &impl serde::Serialize,
) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

pub(super) fn parse_line(line: &[u8]) -> ParsedLine {
    let line = line.strip_prefix(BOM).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return ParsedLine::Ignored;
    }
    let error = match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(message) => return ParsedLine::Message(Box::new(message)),
        Err(error) => error,
    };
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return ParsedLine::Invalid(Box::new(JsonRpcError::new(
            None,
            ErrorData::parse_error("this is not JSON", None),
        )));
    };
    let id: Option<RequestId> = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    // Notifications get no response.
    if id.is_none() && value.get("method").is_some_and(Value::is_string) {
        return ParsedLine::Ignored;
    }
    tracing::debug!(target: "neap::mcp", %error, "cannot parse a message");
    let is_request = value.get("jsonrpc").is_some_and(|version| version == "2.0")
        && value.get("method").is_some_and(Value::is_string);
    let error_data = match is_request {
        true => ErrorData::invalid_params("the parameters are not those of this method", None),
        false => ErrorData::invalid_request("this is not a request", None),
    };
    ParsedLine::Invalid(Box::new(JsonRpcError::new(id, error_data)))
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> Transport<RoleServer>
    for StdioTransport<R, W>
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let write = self.write.clone();
        async move { write_message(&write, &message).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let reply = match self.read_line().await {
                Ok(LineRead::Line) => {
                    let parsed = parse_line(&self.line);
                    self.line.clear();
                    match parsed {
                        ParsedLine::Message(message) => {
                            self.has_request |= matches!(*message, ClientJsonRpcMessage::Request(_));
                            if self.has_request {
                                return Some(*message);
                            }
                            continue;
                        }
                        ParsedLine::Invalid(reply) => reply,
                        ParsedLine::Ignored => continue,
                    }
                }
                Ok(LineRead::TooLong) => {
                    let reason = format!("the message is longer than {LINE_BYTES_MAX} bytes");
                    Box::new(JsonRpcError::new(None, ErrorData::invalid_request(reason, None)))
                }
                Ok(LineRead::End) => return None,
                Err(error) => {
                    tracing::warn!(target: "neap::mcp", %error, "cannot read from the client");
                    return None;
                }
            };
            // Spawned, because `receive` may be cancelled and the error must still be sent.
            let write = self.write.clone();
            tokio::spawn(async move {
                if let Err(error) = write_message(&write, &reply).await {
                    tracing::debug!(target: "neap::mcp", %error, "cannot send an error to the client");
                }
            });
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.write.lock().await.shutdown().await
    }
}
