//! Signing keys: the current one signs, older ones still verify. A key is never shown; its id, a hash, is.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::entropy::{Entropy, SystemEntropy};
use super::hex;

pub const SECRET_BYTES_MIN: usize = 16;
const SECRET_BYTES: usize = 32;
/// Length of a key id before hex encoding.
const ID_BYTES: usize = 8;
/// Hashed before the secret to derive its id.
const KEY_ID_DOMAIN: &[u8] = b"neap envelope key 1";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the system gave no random bytes")]
    Entropy,
    #[error("a key has at least {SECRET_BYTES_MIN} bytes, this one has {bytes}")]
    TooShort { bytes: usize },
    /// Does not quote the input: it could be a secret.
    #[error("a key is written in hexadecimal digits, lower case, two for each byte")]
    NotHex,
}

/// Its memory is overwritten on drop.
pub struct Key {
    secret: Vec<u8>,
    id: String,
}

impl Key {
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, KeyError> {
        let mut key = Self { secret: vec![0; SECRET_BYTES], id: String::new() };
        entropy.fill(&mut key.secret)?;
        key.id = derive_id(&key.secret);
        Ok(key)
    }

    pub fn from_secret(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(KeyError::TooShort { bytes: secret.len() });
        }
        Ok(Self { secret: secret.to_vec(), id: derive_id(secret) })
    }

    pub fn from_hex(text: &str) -> Result<Self, KeyError> {
        let mut secret = hex::decode(text).ok_or(KeyError::NotHex)?;
        let key = Self::from_secret(&secret);
        wipe(&mut secret);
        key
    }

    /// Reveals nothing about the secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The secret in hex, to be written where only its owner can read it.
    pub fn expose_hex(&self) -> String {
        hex::encode(&self.secret)
    }

    pub(super) fn mac(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(&self.secret).expect("HMAC takes a key of any length")
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> String {
        hex::encode(&self.mac().chain_update(bytes).finalize().into_bytes())
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        wipe(&mut self.secret);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

pub struct Keyring {
    /// Never empty; the current key is first.
    keys: Vec<Key>,
    pub(super) entropy: Arc<dyn Entropy>,
}

impl Keyring {
    pub fn generate() -> Result<Self, KeyError> {
        Ok(Self::from_keys(Key::generate(&SystemEntropy)?, []))
    }

    pub fn from_secret(secret: &[u8]) -> Result<Self, KeyError> {
        Ok(Self::from_keys(Key::from_secret(secret)?, []))
    }

    /// Signs with `current`; the older keys only verify.
    pub fn from_keys(current: Key, older: impl IntoIterator<Item = Key>) -> Self {
        let mut ring = Self { keys: vec![current], entropy: Arc::new(SystemEntropy) };
        for key in older {
            if ring.find(key.id()).is_none() {
                ring.keys.push(key);
            }
        }
        ring
    }

    /// Takes ids and nonces from another source than the operating system.
    pub fn with_entropy(self, entropy: Arc<dyn Entropy>) -> Self {
        Self { entropy, ..self }
    }

    pub fn current(&self) -> &Key {
        &self.keys[0]
    }

    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    pub(super) fn find(&self, key_id: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.id() == key_id)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keyring").field(&self.keys).finish()
    }
}

fn derive_id(secret: &[u8]) -> String {
    let hash = Sha256::new().chain_update(KEY_ID_DOMAIN).chain_update(secret).finalize();
    hex::encode(&hash[..ID_BYTES])
}

/// Overwrites a secret; `black_box` keeps the compiler from removing the write.
fn wipe(secret: &mut [u8]) {
    secret.fill(0);
    std::hint::black_box(secret);
}
