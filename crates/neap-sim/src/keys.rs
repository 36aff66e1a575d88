//! The key of a simulated engine. Nonces come from the seed, so that a run can be repeated.

use std::sync::{Arc, Mutex, PoisonError};

use neap_model::envelope::{Entropy, KeyError, Keyring};

use crate::rng::Rng;

/// All simulated engines share it, as all processes of one host do.
const SECRET: &[u8] = b"a key for simulations only";

struct SeededEntropy(Mutex<Rng>);

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), KeyError> {
        let mut rng = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&rng.draw().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

pub(crate) fn keyring(rng: Rng) -> Keyring {
    let keyring = Keyring::from_secret(SECRET).expect("the secret is long enough");
    keyring.with_entropy(Arc::new(SeededEntropy(Mutex::new(rng))))
}
