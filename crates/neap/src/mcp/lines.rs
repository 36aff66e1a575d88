//! JSON-RPC over standard input and output, a message a line.
//!
//! What cannot be read is answered with the error that JSON-RPC has for it, and the next line is read; a message of any length
//! takes no more memory than a message may have.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcError, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

/// The longest message, in bytes: the longest text that is kept, escaped, and what is around it.
pub(super) const LINE_BYTES_MAX: usize = 20 << 20;
/// Zero-width mark that some programs put before their first line.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Both directions.
pub(super) struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is being passed over.
    is_skipping: bool,
    /// Whether a request has come; what else comes before it means nothing.
    is_begun: bool,
    write: Arc<Mutex<W>>,
}

/// What came.
enum Came {
    Line,
    TooLong,
    End,
}

/// What a line is.
pub(super) enum Read {
    Message(Box<ClientJsonRpcMessage>),
    Wrong(Box<JsonRpcError>),
    Nothing,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    pub(super) fn new(read: R, write: W) -> Self {
        let write = Arc::new(Mutex::new(write));
        Self { read: BufReader::new(read), line: Vec::new(), is_skipping: false, is_begun: false, write }
    }

    /// Reads up to the end of a line. May be dropped half-way and begun again.
    async fn next(&mut self) -> std::io::Result<Came> {
        loop {
            let (used, is_end) = {
                let bytes = self.read.fill_buf().await?;
                if bytes.is_empty() {
                    // The last line may have no end.
                    let is_left = !self.line.is_empty() && !self.is_skipping;
                    return Ok(if is_left { Came::Line } else { Came::End });
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
                return Ok(Came::TooLong);
            } else if is_end && !self.line.is_empty() {
                return Ok(Came::Line);
            }
        }
    }
}

async fn put<W: AsyncWrite + Unpin>(write: &Mutex<W>, message: &impl serde::Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

/// Reads a message.
pub(super) fn read(line: &[u8]) -> Read {
    let line = line.strip_prefix(MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Read::Nothing;
    }
    let error = match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(message) => return Read::Message(Box::new(message)),
        Err(error) => error,
    };
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return Read::Wrong(Box::new(JsonRpcError::new(None, ErrorData::parse_error("this is not JSON", None))));
    };
    let id: Option<RequestId> = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    // A notification is never answered.
    if id.is_none() && value.get("method").is_some_and(Value::is_string) {
        return Read::Nothing;
    }
    tracing::debug!(target: "neap::mcp", %error, "a message was not understood");
    let is_request = value.get("jsonrpc").is_some_and(|version| version == "2.0")
        && value.get("method").is_some_and(Value::is_string);
    let why = match is_request {
        true => ErrorData::invalid_params("the parameters are not those of this method", None),
        false => ErrorData::invalid_request("this is not a request", None),
    };
    Read::Wrong(Box::new(JsonRpcError::new(id, why)))
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> Transport<RoleServer> for Lines<R, W> {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let write = self.write.clone();
        async move { put(&write, &message).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let wrong = match self.next().await {
                Ok(Came::Line) => {
                    let came = read(&self.line);
                    self.line.clear();
                    match came {
                        Read::Message(message) => {
                            self.is_begun |= matches!(*message, ClientJsonRpcMessage::Request(_));
                            if self.is_begun {
                                return Some(*message);
                            }
                            continue;
                        }
                        Read::Wrong(wrong) => wrong,
                        Read::Nothing => continue,
                    }
                }
                Ok(Came::TooLong) => {
                    let why = format!("the message is longer than {LINE_BYTES_MAX} bytes");
                    Box::new(JsonRpcError::new(None, ErrorData::invalid_request(why, None)))
                }
                Ok(Came::End) => return None,
                Err(error) => {
                    tracing::warn!(target: "neap::mcp", %error, "the client cannot be heard");
                    return None;
                }
            };
            // Whoever asks for the next message may give up on it half-way; this is said all the same.
            let write = self.write.clone();
            tokio::spawn(async move {
                if let Err(error) = put(&write, &wrong).await {
                    tracing::debug!(target: "neap::mcp", %error, "a client did not hear what is wrong");
                }
            });
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.write.lock().await.shutdown().await
    }
}
