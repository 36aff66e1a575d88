//! The design's scripted proofs, run through the real engine: what is expected beside what is measured.

mod decay;
mod eviction;
mod expansion;
pub mod memory;
pub mod model;
mod session;
mod summaries;
pub mod window;

use serde::Serialize;

use crate::LabError;
use session::ProofSession;

#[derive(Debug, Serialize)]
pub struct ProofRow {
    pub step: String,
    pub action: String,
    pub expected: String,
    pub measured: String,
    pub ok: bool,
}

#[derive(Debug, Serialize)]
pub struct Proof {
    pub slice: &'static str,
    pub shows: &'static str,
    pub rows: Vec<ProofRow>,
    pub ok: bool,
}

impl Proof {
    fn new(slice: &'static str, shows: &'static str) -> Self {
        Self { slice, shows, rows: Vec::new(), ok: true }
    }

    fn add_row(
        &mut self,
        step: impl Into<String>,
        action: impl Into<String>,
        expected: impl Into<String>,
        measured: impl Into<String>,
        ok: bool,
    ) {
        self.ok &= ok;
        let (step, action) = (step.into(), action.into());
        self.rows.push(ProofRow { step, action, expected: expected.into(), measured: measured.into(), ok });
    }
}

/// A proof of how efforts behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slice {
    Summaries,
    Expansion,
    Decay,
    Eviction,
}

impl Slice {
    pub const ALL: [Self; 4] = [Self::Summaries, Self::Expansion, Self::Decay, Self::Eviction];

    pub async fn prove(self) -> Result<Proof, LabError> {
        let mut session = ProofSession::new().await?;
        match self {
            Self::Summaries => summaries::prove(&mut session).await,
            Self::Expansion => expansion::prove(&mut session).await,
            Self::Decay => decay::prove(&mut session).await,
            Self::Eviction => eviction::prove(&mut session).await,
        }
    }
}
