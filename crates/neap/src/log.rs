//! The log of what the program does, for those who look for a fault: off unless asked for, on standard error.

use std::io::{self, Write};

use neap_core::secrets::mask;
use tracing::level_filters::LevelFilter;

use crate::env::{self, NEAP_LOG};
use crate::out::Failure;

/// Begins to log, if `NEAP_LOG` says so.
pub(crate) fn start() -> Result<(), Failure> {
    let Some(asked) = env::log() else { return Ok(()) };
    let level: LevelFilter = asked.trim().parse().map_err(|_| {
        Failure::new(format!("{NEAP_LOG}='{}' is not a level of detail", crate::out::clean(&asked)))
            .hint("use error, warn, info, debug, trace or off")
    })?;
    tracing_subscriber::fmt().with_max_level(level).with_ansi(false).with_writer(|| Masked).init();
    Ok(())
}

/// Standard error, without secrets: an error of a provider may repeat the key that it refuses. A line is written at once.
struct Masked;

impl Write for Masked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        io::stderr().write_all(mask(&line).0.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
