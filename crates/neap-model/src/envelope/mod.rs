//! Signed envelopes: a tool's result, bound to the call that it answers.
//!
//! Hosts put queues, processes and networks between a tool and Neap. An [`Envelope`] names the session, call,
//! tool, arguments and time of a result; its signature (HMAC-SHA-256, [`Keyring`]) covers all of them. Altered,
//! moved, replayed or expired envelopes are an [`EnvelopeError`]. The payload is signed, not encrypted.

mod entropy;
mod hex;
mod key;
mod replay_guard;
mod seal;
#[cfg(test)]
mod tests;

pub use entropy::{Entropy, SystemEntropy};
pub use key::{Key, KeyError, Keyring, SECRET_BYTES_MIN};
pub use replay_guard::ReplayGuard;
pub use seal::{CLOCK_SKEW_MS, EXPIRY_MS};

use neap_core::base::ids::Stamp;
use neap_core::base::message::Seal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Prefix of all signed bytes: a signature for another purpose or layout does not verify here.
const SIGNATURE_DOMAIN: &[u8] = b"neap envelope 1";

/// Ids, hashes, nonce and signature are lowercase hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Unique.
    pub result_id: String,
    pub payload: String,
    /// Over all other fields.
    pub sig: String,
    /// The signing key's id; reveals nothing about the key.
    pub key_id: String,
    pub session: String,
    pub call_id: String,
    pub tool: String,
    /// SHA-256 of the arguments as the caller wrote them.
    pub args_sha256: String,
    pub result_sha256: String,
    pub issued_at: Stamp,
    /// Used once.
    pub nonce: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallBinding<'a> {
    pub session: &'a str,
    pub call_id: &'a str,
    pub tool: &'a str,
    /// As the caller wrote them.
    pub arguments: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Never known, or retired.
    #[error("it is signed with a key that is not known here")]
    UnknownKey,
    #[error("its signature does not fit")]
    BadSignature,
    /// The payload does not match its signed hash.
    #[error("it is not the result that was signed")]
    AlteredResult,
    #[error("it was issued for another session")]
    OtherSession,
    #[error("it was issued for another call")]
    OtherCall,
    #[error("it was issued by another tool")]
    OtherTool,
    #[error("it was issued for other arguments")]
    OtherArguments,
    #[error("it was issued too long ago")]
    Expired,
    #[error("it was issued in the future")]
    FromTheFuture,
    /// Accepted before, or indistinguishable from one that was.
    #[error("it was used before")]
    Replayed,
}

impl Envelope {
    /// Every field but the signature, in this order, each prefixed by its length in eight bytes, so that no two
    /// envelopes sign the same bytes.
    fn signed_bytes(&self) -> Vec<u8> {
        let Self { result_id, payload, sig: _, key_id, session, call_id, tool, .. } = self;
        let Self { args_sha256, result_sha256, issued_at, nonce, .. } = self;
        let issued_at = issued_at.0.to_be_bytes();
        let fields: [&[u8]; 10] = [
            result_id.as_bytes(),
            key_id.as_bytes(),
            session.as_bytes(),
            call_id.as_bytes(),
            tool.as_bytes(),
            args_sha256.as_bytes(),
            result_sha256.as_bytes(),
            &issued_at,
            nonce.as_bytes(),
            payload.as_bytes(),
        ];
        let mut bytes = SIGNATURE_DOMAIN.to_vec();
        for field in fields {
            bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
            bytes.extend_from_slice(field);
        }
        bytes
    }

    /// What is stored beside the call and its result, which hold the rest.
    pub fn to_seal(&self) -> Seal {
        Seal {
            call_id: self.call_id.clone(),
            result_id: self.result_id.clone(),
            key_id: self.key_id.clone(),
            issued_at: self.issued_at,
            nonce: self.nonce.clone(),
            sig: self.sig.clone(),
        }
    }

    /// Rebuilds the envelope from its seal and the stored call and result.
    pub fn from_seal(seal: &Seal, binding: &CallBinding<'_>, payload: &str) -> Self {
        Self {
            result_id: seal.result_id.clone(),
            payload: payload.to_owned(),
            sig: seal.sig.clone(),
            key_id: seal.key_id.clone(),
            session: binding.session.to_owned(),
            call_id: seal.call_id.clone(),
            tool: binding.tool.to_owned(),
            args_sha256: sha256(binding.arguments),
            result_sha256: sha256(payload),
            issued_at: seal.issued_at,
            nonce: seal.nonce.clone(),
        }
    }
}

fn sha256(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes()))
}
