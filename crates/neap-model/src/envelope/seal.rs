//! Seals results and opens envelopes.

use hmac::Mac;
use neap_core::base::ids::Stamp;

use super::key::{KeyError, Keyring};
use super::replay_guard::ReplayGuard;
use super::{CallBinding, Envelope, EnvelopeError, hex, sha256};

/// How long an envelope may be in transit.
pub const EXPIRY_MS: i64 = 10 * 60 * 1_000;
/// How far the clocks of two machines may differ.
pub const CLOCK_SKEW_MS: i64 = 30_000;

/// Length of nonces and result ids before hex encoding.
const RANDOM_BYTES: usize = 16;

impl Keyring {
    pub fn seal(&self, binding: &CallBinding<'_>, payload: String, now: Stamp) -> Result<Envelope, KeyError> {
        let key = self.current();
        let mut envelope = Envelope {
            result_id: self.random_hex()?,
            sig: String::new(),
            key_id: key.id().to_owned(),
            session: binding.session.to_owned(),
            call_id: binding.call_id.to_owned(),
            tool: binding.tool.to_owned(),
            args_sha256: sha256(binding.arguments),
            result_sha256: sha256(&payload),
            issued_at: now,
            nonce: self.random_hex()?,
            payload,
        };
        envelope.sig = key.sign(&envelope.signed_bytes());
        Ok(envelope)
    }

    /// Accepts a result as the answer to this call, once. Checks the signature first: whoever cannot sign learns
    /// nothing else.
    pub fn open(
        &self,
        envelope: &Envelope,
        binding: &CallBinding<'_>,
        now: Stamp,
        guard: &mut ReplayGuard,
    ) -> Result<String, EnvelopeError> {
        self.verify(envelope, binding)?;
        let age_ms = now.0.saturating_sub(envelope.issued_at.0);
        if age_ms > EXPIRY_MS {
            return Err(EnvelopeError::Expired);
        }
        if age_ms < -CLOCK_SKEW_MS {
            return Err(EnvelopeError::FromTheFuture);
        }
        guard.forget_before(Stamp(now.0.saturating_sub(EXPIRY_MS)));
        if !guard.insert_new(envelope.issued_at, &envelope.nonce) {
            return Err(EnvelopeError::Replayed);
        }
        Ok(envelope.payload.clone())
    }

    /// Verifies without regard to time: for stored results.
    pub fn verify(&self, envelope: &Envelope, binding: &CallBinding<'_>) -> Result<(), EnvelopeError> {
        let key = self.find(&envelope.key_id).ok_or(EnvelopeError::UnknownKey)?;
        let sig = hex::decode(&envelope.sig).ok_or(EnvelopeError::BadSignature)?;
        // Constant time.
        key.mac()
            .chain_update(envelope.signed_bytes())
            .verify_slice(&sig)
            .map_err(|_| EnvelopeError::BadSignature)?;
        let checks = [
            (envelope.result_sha256 == sha256(&envelope.payload), EnvelopeError::AlteredResult),
            (envelope.session == binding.session, EnvelopeError::OtherSession),
            (envelope.tool == binding.tool, EnvelopeError::OtherTool),
            (envelope.call_id == binding.call_id, EnvelopeError::OtherCall),
            (envelope.args_sha256 == sha256(binding.arguments), EnvelopeError::OtherArguments),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, error)| Err(error))
    }

    fn random_hex(&self) -> Result<String, KeyError> {
        let mut bytes = [0; RANDOM_BYTES];
        self.entropy.fill(&mut bytes)?;
        Ok(hex::encode(&bytes))
    }
}
