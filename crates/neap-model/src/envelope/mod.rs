//! Signed envelopes: a tool's result, bound to the call that it answers.
//!
//! Between a tool and the memory lies whatever a host is made of: queues, processes, networks. An [`Envelope`] says
//! which session, call, tool and arguments a result answers, and when it was issued; its signature (HMAC-SHA-256,
//! [`Keyring`]) covers all of it. What was altered, moved to another call, replayed or held back too long is
//! [`Refused`]. An envelope hides nothing: its payload is there to be read.

mod entropy;
mod hex;
mod key;
mod seal;
mod seen;
#[cfg(test)]
mod tests;

pub use entropy::{Entropy, SystemEntropy};
pub use key::{Key, KeyError, Keyring, SECRET_BYTES_MIN};
pub use seal::{CLOCK_SKEW_MS, EXPIRY_MS};
pub use seen::Seen;

use neap_core::ids::Stamp;
use neap_core::message::Seal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Stands before everything that is signed: a signature made for another purpose, or another layout, is none here.
const SIGNED_AS: &[u8] = b"neap envelope 1";

/// A tool's result and what proves it. Ids, hashes, nonce and signature are hexadecimal, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Names this result; no other has the same.
    pub result_id: String,
    /// What the tool answered.
    pub payload: String,
    /// The signature over every other field.
    pub sig: String,
    /// Which key signed; says nothing about the key.
    pub key_id: String,
    /// The session that called.
    pub session: String,
    /// The call that this answers.
    pub call_id: String,
    /// The tool that was called.
    pub tool: String,
    /// SHA-256 of the arguments, as the caller wrote them.
    pub args_sha256: String,
    /// SHA-256 of the payload.
    pub result_sha256: String,
    /// When it was signed.
    pub issued_at: Stamp,
    /// Used once.
    pub nonce: String,
}

/// The call that a result must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The session that called.
    pub session: &'a str,
    /// The call's id.
    pub call_id: &'a str,
    /// The tool's name.
    pub tool: &'a str,
    /// The arguments, as they were written.
    pub arguments: &'a str,
}

/// Why an envelope is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No key of this id verifies here: never known, or retired.
    #[error("it is signed with a key that is not known here")]
    UnknownKey,
    /// It is not what was signed.
    #[error("its signature does not fit")]
    BadSignature,
    /// The result is not the one whose hash was signed.
    #[error("it is not the result that was signed")]
    AlteredResult,
    /// It answers a call in another session.
    #[error("it was issued for another session")]
    OtherSession,
    /// It answers another call.
    #[error("it was issued for another call")]
    OtherCall,
    /// It comes from another tool.
    #[error("it was issued by another tool")]
    OtherTool,
    /// It answers other arguments.
    #[error("it was issued for other arguments")]
    OtherArguments,
    /// It is too old.
    #[error("it was issued too long ago")]
    Expired,
    /// It is not issued yet, by our clock.
    #[error("it was issued in the future")]
    FromTheFuture,
    /// It was accepted before, or cannot be told from one that was.
    #[error("it was used before")]
    Replayed,
}

impl Envelope {
    /// The bytes that are signed: every field but the signature, in this order, each after its length in eight bytes,
    /// so that no two envelopes have the same.
    fn signed(&self) -> Vec<u8> {
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
        let mut bytes = SIGNED_AS.to_vec();
        for field in fields {
            bytes.extend_from_slice(&(field.len() as u64).to_be_bytes());
            bytes.extend_from_slice(field);
        }
        bytes
    }

    /// What is kept of it beside a stored call and its result, which say the rest.
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

    /// The envelope again, of what was kept of it and the stored call and result.
    pub fn from_seal(seal: &Seal, binding: &Binding<'_>, payload: &str) -> Self {
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
