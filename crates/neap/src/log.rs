//! Debug logging on standard error, off by default.

use std::io::{self, Write};

use neap_core::text::secrets::mask;
use tracing::level_filters::LevelFilter;

use crate::env::{self, NEAP_LOG};
use crate::out::Failure;

/// Starts logging if `NEAP_LOG` is set.
pub(crate) fn init() -> Result<(), Failure> {
    let Some(name) = env::log_level() else { return Ok(()) };
    let level: LevelFilter = name.trim().parse().map_err(|_| {
        Failure::new(format!("{NEAP_LOG}='{}' is not a log level", crate::out::escape_control(&name)))
            .hint("use error, warn, info, debug, trace or off")
    })?;
    tracing_subscriber::fmt().with_max_level(level).with_ansi(false).with_writer(|| MaskedStderr).init();
    Ok(())
}

/// Standard error with secrets masked (a provider's error may repeat the key). Each line is one write.
struct MaskedStderr;

impl Write for MaskedStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        io::stderr().write_all(mask(&line).0.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
