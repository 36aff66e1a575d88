//! TLS on the server's own port, from a certificate and its key.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::ServerError;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A certificate that the server shows, with its key.
#[derive(Clone)]
pub struct ServerTls(TlsAcceptor);

/// Marks a request that came over TLS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverTls;

impl ServerTls {
    /// Reads both from files in PEM; the server's own certificate is the first of its file.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, ServerError> {
        let unusable = |path: &Path, why: String| {
            ServerError::new(format!("cannot use {} for TLS: {why}", path.display()))
                .hint("name a certificate and its key, both in PEM, with --tls-cert and --tls-key")
        };
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(certificate).and_then(|certificates| certificates.collect());
        let chain = chain.map_err(|error| unusable(certificate, error.to_string()))?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, secret));
        let mut config = config.map_err(|error| unusable(key, error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Shakes hands, in a bounded time.
    pub(super) async fn accept(&self, client: TcpStream) -> io::Result<Connection> {
        let accepted = tokio::time::timeout(HANDSHAKE_TIMEOUT, self.0.accept(client)).await;
        let tls = accepted.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        Ok(Connection::Tls(Box::new(tls)))
    }
}

/// A client's connection.
pub(super) enum Connection {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(plain) => Pin::new(plain).poll_read(cx, buf),
            Connection::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Connection::Plain(plain) => Pin::new(plain).poll_write(cx, buf),
            Connection::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Connection::Plain(plain) => Pin::new(plain).poll_write_vectored(cx, bufs),
            Connection::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Connection::Plain(plain) => plain.is_write_vectored(),
            Connection::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(plain) => Pin::new(plain).poll_flush(cx),
            Connection::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Connection::Plain(plain) => Pin::new(plain).poll_shutdown(cx),
            Connection::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
