//! Keys: one signs, older ones still verify. A key is never shown; its id, a hash, is.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::entropy::{Entropy, SystemEntropy};
use super::hex;
use super::seal::EXPIRY_MS;

/// Shortest secret that is taken for a key.
pub const SECRET_BYTES_MIN: usize = 16;
/// Length of a key that is made here.
const SECRET_BYTES: usize = 32;
/// Length of a key's id before it is written in hexadecimal.
const ID_BYTES: usize = 8;
/// Stands before a secret when its id is made.
const NAMED_AS: &[u8] = b"neap envelope key 1";

/// A key that cannot be made or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The system gave no random bytes.
    #[error("the system gave no random bytes")]
    Entropy,
    /// Too easy to guess.
    #[error("a key has at least {SECRET_BYTES_MIN} bytes, this one has {bytes}")]
    TooShort {
        /// Its length.
        bytes: usize,
    },
    /// Not in the one spelling that is accepted. What was given is not repeated: it could be a secret.
    #[error("a key is written in hexadecimal digits, lower case, two for each byte")]
    NotHex,
    /// There is none of this id.
    #[error("there is no key {0}")]
    NoSuchKey(String),
    /// The key that signs cannot be retired.
    #[error("the key {0} is the current one")]
    IsCurrent(String),
}

/// A secret that signs. Its memory is overwritten when it is dropped.
pub struct Key {
    secret: Vec<u8>,
    id: String,
}

impl Key {
    /// A new one.
    pub fn generate(entropy: &dyn Entropy) -> Result<Self, KeyError> {
        let mut key = Self { secret: vec![0; SECRET_BYTES], id: String::new() };
        entropy.fill(&mut key.secret)?;
        key.id = id_of(&key.secret);
        Ok(key)
    }

    /// The key that a secret is.
    pub fn from_secret(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(KeyError::TooShort { bytes: secret.len() });
        }
        Ok(Self { secret: secret.to_vec(), id: id_of(secret) })
    }

    /// The key that is written in hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self, KeyError> {
        let mut secret = hex::decode(text).ok_or(KeyError::NotHex)?;
        let key = Self::from_secret(&secret);
        wipe(&mut secret);
        key
    }

    /// What to call it; says nothing about the secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The secret itself, in hexadecimal digits, to be written where only its owner can read it.
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

/// A current key and older ones that still verify.
pub struct Keyring {
    /// The current one first; there is always one.
    keys: Vec<Key>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) expiry_ms: i64,
}

impl Keyring {
    /// A keyring with a new key.
    pub fn generate() -> Result<Self, KeyError> {
        Ok(Self::of(Key::generate(&SystemEntropy)?, []))
    }

    /// A keyring with one given key.
    pub fn from_secret(secret: &[u8]) -> Result<Self, KeyError> {
        Ok(Self::of(Key::from_secret(secret)?, []))
    }

    /// A keyring that signs with one key and verifies with others as well.
    pub fn of(current: Key, older: impl IntoIterator<Item = Key>) -> Self {
        let mut ring = Self { keys: vec![current], entropy: Arc::new(SystemEntropy), expiry_ms: EXPIRY_MS };
        for key in older {
            if ring.find(key.id()).is_none() {
                ring.keys.push(key);
            }
        }
        ring
    }

    /// Takes ids and nonces from somewhere else than the operating system.
    pub fn entropy(self, entropy: Arc<dyn Entropy>) -> Self {
        Self { entropy, ..self }
    }

    /// Refuses envelopes older than this, instead of [`EXPIRY_MS`].
    pub fn expiry_ms(self, expiry_ms: i64) -> Self {
        Self { expiry_ms, ..self }
    }

    /// From now on a new key signs; the others still verify. Returns its id.
    pub fn rotate(&mut self) -> Result<&str, KeyError> {
        self.keys.insert(0, Key::generate(self.entropy.as_ref())?);
        Ok(self.current().id())
    }

    /// Forgets an older key: what it signed is not accepted any more.
    pub fn retire(&mut self, key_id: &str) -> Result<(), KeyError> {
        match self.keys.iter().position(|key| key.id() == key_id) {
            None => Err(KeyError::NoSuchKey(key_id.to_owned())),
            Some(0) => Err(KeyError::IsCurrent(key_id.to_owned())),
            Some(at) => {
                self.keys.remove(at);
                Ok(())
            }
        }
    }

    /// The key that signs.
    pub fn current(&self) -> &Key {
        &self.keys[0]
    }

    /// All keys, the current one first.
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

fn id_of(secret: &[u8]) -> String {
    let hash = Sha256::new().chain_update(NAMED_AS).chain_update(secret).finalize();
    hex::encode(&hash[..ID_BYTES])
}

/// Overwrites a secret; the compiler may not leave it out, because someone could still look.
fn wipe(secret: &mut [u8]) {
    secret.fill(0);
    std::hint::black_box(secret);
}
