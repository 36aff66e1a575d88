//! Signing a result, and accepting a signed one.

use hmac::Mac;
use neap_core::ids::Stamp;

use super::key::{KeyError, Keyring};
use super::seen::Seen;
use super::{Binding, Envelope, Refused, hex, sha256};

/// How long an envelope may be under way.
pub const EXPIRY_MS: i64 = 10 * 60 * 1_000;
/// How far the clocks of two machines may differ.
pub const CLOCK_SKEW_MS: i64 = 30_000;

/// Length of a nonce and of a result's id, before they are written in hexadecimal.
const RANDOM_BYTES: usize = 16;

impl Keyring {
    /// Signs a result with the current key.
    pub fn seal(&self, binding: &Binding<'_>, payload: String, now: Stamp) -> Result<Envelope, KeyError> {
        let key = self.current();
        let mut envelope = Envelope {
            result_id: self.random()?,
            sig: String::new(),
            key_id: key.id().to_owned(),
            session: binding.session.to_owned(),
            call_id: binding.call_id.to_owned(),
            tool: binding.tool.to_owned(),
            args_sha256: sha256(binding.arguments),
            result_sha256: sha256(&payload),
            issued_at: now,
            nonce: self.random()?,
            payload,
        };
        envelope.sig = key.sign(&envelope.signed());
        Ok(envelope)
    }

    /// Accepts a result as the answer to this call, once. The signature is looked at before anything that it covers:
    /// who cannot sign learns nothing but that.
    pub fn open(
        &self,
        envelope: &Envelope,
        binding: &Binding<'_>,
        now: Stamp,
        seen: &mut Seen,
    ) -> Result<String, Refused> {
        self.verify(envelope, binding)?;
        let age_ms = now.0.saturating_sub(envelope.issued_at.0);
        if age_ms > self.expiry_ms {
            return Err(Refused::Expired);
        }
        if age_ms < -CLOCK_SKEW_MS {
            return Err(Refused::FromTheFuture);
        }
        seen.forget_before(Stamp(now.0.saturating_sub(self.expiry_ms)));
        if !seen.is_first(envelope.issued_at, &envelope.nonce) {
            return Err(Refused::Replayed);
        }
        Ok(envelope.payload.clone())
    }

    /// Whether this is the signed answer to this call, whenever it was issued: for results that are stored.
    pub fn verify(&self, envelope: &Envelope, binding: &Binding<'_>) -> Result<(), Refused> {
        let key = self.find(&envelope.key_id).ok_or(Refused::UnknownKey)?;
        let sig = hex::decode(&envelope.sig).ok_or(Refused::BadSignature)?;
        // In constant time.
        key.mac().chain_update(envelope.signed()).verify_slice(&sig).map_err(|_| Refused::BadSignature)?;
        let checks = [
            (envelope.result_sha256 == sha256(&envelope.payload), Refused::AlteredResult),
            (envelope.session == binding.session, Refused::OtherSession),
            (envelope.tool == binding.tool, Refused::OtherTool),
            (envelope.call_id == binding.call_id, Refused::OtherCall),
            (envelope.args_sha256 == sha256(binding.arguments), Refused::OtherArguments),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, refused)| Err(refused))
    }

    fn random(&self) -> Result<String, KeyError> {
        let mut bytes = [0; RANDOM_BYTES];
        self.entropy.fill(&mut bytes)?;
        Ok(hex::encode(&bytes))
    }
}
