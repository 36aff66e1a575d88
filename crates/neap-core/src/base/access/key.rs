//! A key's text, `neap_<id>_<secret>`, and what is kept of it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::AccessError;

const PREFIX: &str = "neap_";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;
const DIGEST_BYTES: usize = 32;
/// Of a whole key: its prefix, its id, a mark between, its secret.
const KEY_CHARS: usize = PREFIX.len() + 2 * ID_BYTES + 1 + 2 * SECRET_BYTES;

/// Names a key; tells nothing of its secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyId(String);

impl KeyId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyId {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Self, AccessError> {
        match is_hex(text, ID_BYTES) {
            true => Ok(Self(text.to_owned())),
            false => Err(AccessError("a key's id has 12 hexadecimal digits".to_owned())),
        }
    }
}

impl TryFrom<String> for KeyId {
    type Error = AccessError;

    fn try_from(text: String) -> Result<Self, AccessError> {
        text.parse()
    }
}

impl From<KeyId> for String {
    fn from(id: KeyId) -> String {
        id.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// SHA-256 of a secret: all that is stored of it.
#[derive(Clone, Copy, Eq)]
pub struct SecretDigest([u8; DIGEST_BYTES]);

impl SecretDigest {
    pub fn bytes(&self) -> &[u8; DIGEST_BYTES] {
        &self.0
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// Takes the same time wherever two differ.
impl PartialEq for SecretDigest {
    fn eq(&self, other: &Self) -> bool {
        let differences = self.0.iter().zip(&other.0).fold(0, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest(…)")
    }
}

/// A whole key, as its owner has it. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    id: KeyId,
    secret: SecretDigest,
}

impl AccessKey {
    /// Makes a key of random bytes; returns it with its text, which is shown once.
    pub fn generate(random: &[u8; ID_BYTES + SECRET_BYTES]) -> (Self, String) {
        let (id, secret) = random.split_at(ID_BYTES);
        let id = KeyId(hex(id));
        Self::with_secret(&id, secret)
    }

    /// Another secret for a key that there is.
    pub fn renew(id: &KeyId, random: &[u8; SECRET_BYTES]) -> (Self, String) {
        Self::with_secret(id, random)
    }

    fn with_secret(id: &KeyId, secret: &[u8]) -> (Self, String) {
        let secret = hex(secret);
        let text = format!("{PREFIX}{id}_{secret}");
        (Self { id: id.clone(), secret: digest(&secret) }, text)
    }

    pub fn id(&self) -> &KeyId {
        &self.id
    }

    pub fn digest(&self) -> &SecretDigest {
        &self.secret
    }

    /// Whether a text has something in it that is written as a key is.
    pub fn is_in(text: &[u8]) -> bool {
        let starts = text.windows(PREFIX.len()).enumerate().filter(|(_, part)| *part == PREFIX.as_bytes());
        let mut keys = starts.filter_map(|(at, _)| std::str::from_utf8(text.get(at..at + KEY_CHARS)?).ok());
        keys.any(|key| key.parse::<Self>().is_ok())
    }
}

impl FromStr for AccessKey {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Self, AccessError> {
        let parts = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
        match parts {
            Some((id, secret)) if is_hex(secret, SECRET_BYTES) => {
                Ok(Self { id: id.parse()?, secret: digest(secret) })
            }
            // What was given is not repeated: it may be most of a key.
            Some(_) | None => Err(AccessError("this is not a key: neap_<id>_<secret>".to_owned())),
        }
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}_…", self.id)
    }
}

fn digest(secret: &str) -> SecretDigest {
    SecretDigest(Sha256::digest(secret.as_bytes()).into())
}

fn is_hex(text: &str, bytes: usize) -> bool {
    text.len() == 2 * bytes && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
