//! Only the exact envelope signed for this call is accepted, in time and once.

use std::sync::Arc;

use neap_core::base::ids::Stamp;
use proptest::prelude::*;

use super::*;

const NOW: Stamp = Stamp(1_771_000_000_000);
const CALL: CallBinding<'_> =
    CallBinding { session: "work", call_id: "call_7", tool: "fetch_page", arguments: r#"{"page":"pumps"}"# };
const ANSWER: &str = "The pump takes 12 Nm.\n\u{1b}[0m ✓ \"quoted\"";

fn ring() -> Keyring {
    Keyring::from_secret(b"sixteen or more bytes").expect("long enough")
}

fn sealed(ring: &Keyring) -> Envelope {
    ring.seal(&CALL, ANSWER.to_owned(), NOW).expect("random bytes")
}

/// Opens an envelope with an empty replay guard.
fn open_once(
    ring: &Keyring,
    envelope: &Envelope,
    binding: &CallBinding<'_>,
    now: Stamp,
) -> Result<String, EnvelopeError> {
    ring.open(envelope, binding, now, &mut ReplayGuard::new())
}

#[track_caller]
fn check(binding: CallBinding<'_>, later_ms: i64, want: Result<&str, EnvelopeError>) {
    let ring = ring();
    let got = open_once(&ring, &sealed(&ring), &binding, Stamp(NOW.0 + later_ms));
    assert_eq!(got.as_deref().map_err(|error| *error), want);
}

#[test]
fn the_right_answer_to_the_right_call_is_accepted() {
    check(CALL, 0, Ok(ANSWER));
    check(CALL, EXPIRY_MS, Ok(ANSWER));
    check(CALL, -CLOCK_SKEW_MS, Ok(ANSWER));
}

#[test]
fn an_answer_moved_to_another_call_is_refused() {
    check(CallBinding { session: "play", ..CALL }, 0, Err(EnvelopeError::OtherSession));
    check(CallBinding { call_id: "call_8", ..CALL }, 0, Err(EnvelopeError::OtherCall));
    check(CallBinding { tool: "fetch_pages", ..CALL }, 0, Err(EnvelopeError::OtherTool));
    check(CallBinding { arguments: r#"{"page": "pumps"}"#, ..CALL }, 0, Err(EnvelopeError::OtherArguments));
}

#[test]
fn an_answer_out_of_its_time_is_refused() {
    check(CALL, EXPIRY_MS + 1, Err(EnvelopeError::Expired));
    check(CALL, i64::MAX - NOW.0, Err(EnvelopeError::Expired));
    check(CALL, -CLOCK_SKEW_MS - 1, Err(EnvelopeError::FromTheFuture));
    check(CALL, i64::MIN, Err(EnvelopeError::FromTheFuture));
}

#[test]
fn an_answer_is_accepted_once() {
    let (ring, mut guard) = (ring(), ReplayGuard::new());
    let (first, second) = (sealed(&ring), sealed(&ring));
    for envelope in [&first, &second] {
        assert!(ring.open(envelope, &CALL, NOW, &mut guard).is_ok());
    }
    for (envelope, later_ms) in [(&first, 0), (&second, 1), (&first, EXPIRY_MS), (&first, -1)] {
        let again = ring.open(envelope, &CALL, Stamp(NOW.0 + later_ms), &mut guard);
        assert_eq!(again, Err(EnvelopeError::Replayed), "after {later_ms} ms");
    }
}

#[test]
fn a_refused_answer_leaves_nothing_behind() {
    let (ring, mut guard) = (ring(), ReplayGuard::new());
    let envelope = sealed(&ring);
    let other = CallBinding { session: "play", ..CALL };
    assert_eq!(ring.open(&envelope, &other, NOW, &mut guard), Err(EnvelopeError::OtherSession));
    assert!(guard.is_empty());
    assert!(ring.open(&envelope, &CALL, NOW, &mut guard).is_ok());
}

/// A clock that ran ahead and came back must not readmit what was forgotten meanwhile.
#[test]
fn what_was_forgotten_is_not_accepted_again() {
    let (ring, mut guard) = (ring(), ReplayGuard::new());
    let envelope = sealed(&ring);
    assert!(ring.open(&envelope, &CALL, NOW, &mut guard).is_ok());
    let ahead = Stamp(NOW.0 + 2 * EXPIRY_MS);
    let later = ring.seal(&CALL, "later".to_owned(), ahead).expect("random bytes");
    assert!(ring.open(&later, &CALL, ahead, &mut guard).is_ok());
    assert_eq!(guard.len(), 1, "the first is expired and forgotten");
    assert_eq!(ring.open(&envelope, &CALL, NOW, &mut guard), Err(EnvelopeError::Replayed));
    let next = ring.seal(&CALL, "next".to_owned(), Stamp(NOW.0 + 1)).expect("random bytes");
    assert!(
        ring.open(&next, &CALL, Stamp(NOW.0 + 1), &mut guard).is_ok(),
        "a new one is not taken for an old one"
    );
}

#[test]
fn memory_is_bounded_and_forgets_to_the_safe_side() {
    let (ring, mut guard) = (ring(), ReplayGuard::new());
    let all: Vec<Envelope> =
        (0..5_000).map(|at| ring.seal(&CALL, String::new(), Stamp(NOW.0 + at)).expect("random bytes")).collect();
    let now = Stamp(NOW.0 + 5_000);
    for envelope in &all {
        assert!(ring.open(envelope, &CALL, now, &mut guard).is_ok());
    }
    assert_eq!(guard.len(), 4_096);
    for envelope in &all {
        assert_eq!(ring.open(envelope, &CALL, now, &mut guard), Err(EnvelopeError::Replayed));
    }
}

#[test]
fn what_was_issued_before_a_call_does_not_answer_it() {
    let (ring, mut guard) = (ring(), ReplayGuard::new());
    let envelope = sealed(&ring);
    guard.set_call_time(Stamp(NOW.0 + CLOCK_SKEW_MS + 1));
    assert_eq!(ring.open(&envelope, &CALL, NOW, &mut guard), Err(EnvelopeError::Replayed));
    // A clock that was set back does not affect later calls.
    guard.set_call_time(Stamp(NOW.0 + CLOCK_SKEW_MS));
    assert!(ring.open(&envelope, &CALL, NOW, &mut guard).is_ok());
}

#[test]
fn an_older_key_verifies_and_does_not_sign() {
    let [old, new] =
        [b"0123456789abcdef", b"fedcba9876543210"].map(|secret| Key::from_secret(secret).expect("long"));
    let (old_ring, new_id) = (Keyring::from_keys(old, []), new.id().to_owned());
    let envelope = sealed(&old_ring);
    let without = Keyring::from_secret(b"fedcba9876543210").expect("long enough");
    let ring = Keyring::from_keys(new, [Key::from_secret(b"0123456789abcdef").expect("long enough")]);
    assert_eq!(sealed(&ring).key_id, new_id, "the new key signs");
    assert!(open_once(&ring, &envelope, &CALL, NOW).is_ok(), "the old one still verifies");
    assert_eq!(open_once(&without, &envelope, &CALL, NOW), Err(EnvelopeError::UnknownKey));
}

#[test]
fn another_key_is_not_ours_whatever_it_calls_itself() {
    let (own, foreign) = (ring(), Keyring::generate().expect("random bytes"));
    let mut envelope = sealed(&foreign);
    assert_eq!(open_once(&own, &envelope, &CALL, NOW), Err(EnvelopeError::UnknownKey));
    own.current().id().clone_into(&mut envelope.key_id);
    envelope.sig = foreign.current().sign(&envelope.signed_bytes());
    assert_eq!(open_once(&own, &envelope, &CALL, NOW), Err(EnvelopeError::BadSignature));
}

/// A valid signer can still be wrong.
#[test]
fn a_hash_of_another_result_is_refused() {
    let ring = ring();
    let mut envelope = sealed(&ring);
    envelope.result_sha256 = sha256("something else");
    envelope.sig = ring.current().sign(&envelope.signed_bytes());
    assert_eq!(open_once(&ring, &envelope, &CALL, NOW), Err(EnvelopeError::AlteredResult));
}

#[test]
fn the_signature_is_looked_at_first() {
    let ring = ring();
    let mut envelope = sealed(&ring);
    envelope.sig = "00".repeat(32);
    let other = CallBinding { session: "x", call_id: "x", tool: "x", arguments: "x" };
    let late = Stamp(NOW.0 + 10 * EXPIRY_MS);
    assert_eq!(open_once(&ring, &envelope, &other, late), Err(EnvelopeError::BadSignature));
    for sig in ["", "0", "zz", &envelope.sig[2..], &"00".repeat(33)] {
        let cut = Envelope { sig: sig.to_owned(), ..envelope.clone() };
        assert_eq!(open_once(&ring, &cut, &CALL, NOW), Err(EnvelopeError::BadSignature), "{sig:?}");
    }
}

#[test]
fn secrets_are_not_shown_and_short_ones_not_taken() {
    assert_eq!(Keyring::from_secret(&[7; 15]).err(), Some(KeyError::TooShort { bytes: 15 }));
    assert!(Keyring::from_secret(&[7; 16]).is_ok());
    let key = Key::generate(&SystemEntropy).expect("random bytes");
    let hex = key.expose_hex();
    assert_eq!(hex.len(), 64);
    assert_eq!(Key::from_hex(&hex).expect("its own spelling").id(), key.id());
    for wrong in [&hex[1..], &hex.to_uppercase(), &format!("0x{hex}"), "not hexadecimal at all, no"] {
        assert_eq!(Key::from_hex(wrong).err(), Some(KeyError::NotHex));
    }
    let ring = Keyring::from_keys(Key::from_hex(&hex).expect("a key"), [key]);
    assert_eq!(ring.keys().len(), 1, "the same key twice is one key");
    let shown = format!("{ring:?} {:?}", ring.current());
    assert!(!shown.contains(&hex) && shown.contains(ring.current().id()), "{shown}");
    assert!(!hex.contains(ring.current().id()));
}

struct NoEntropy;

impl Entropy for NoEntropy {
    fn fill(&self, _bytes: &mut [u8]) -> Result<(), KeyError> {
        Err(KeyError::Entropy)
    }
}

#[test]
fn without_random_bytes_nothing_is_signed() {
    let ring = ring().with_entropy(Arc::new(NoEntropy));
    assert_eq!(ring.seal(&CALL, String::new(), NOW), Err(KeyError::Entropy));
    assert_eq!(Key::generate(&NoEntropy).err(), Some(KeyError::Entropy));
}

/// Pins the layout: each release verifies what earlier ones signed. The expected value comes from Python's `hmac`.
#[test]
fn the_signed_bytes_stay_what_they_are() {
    let key = Key::from_secret(b"0123456789abcdef").expect("long enough");
    let mut envelope = Envelope {
        result_id: "00".repeat(16),
        payload: "twelve".to_owned(),
        sig: String::new(),
        key_id: key.id().to_owned(),
        session: "work".to_owned(),
        call_id: "call_1".to_owned(),
        tool: "fetch".to_owned(),
        args_sha256: sha256("{}"),
        result_sha256: sha256("twelve"),
        issued_at: NOW,
        nonce: "11".repeat(16),
    };
    envelope.sig = key.sign(&envelope.signed_bytes());
    assert_eq!(envelope.key_id, "c5c36b4dffb1bfa3");
    assert_eq!(envelope.sig, "15d87b3fdfd4d240ca84fae7c0a240887024f64d2b2c3d3e540041af0ebf1b76");
}

/// The seal, the call and its result are enough to verify later.
#[test]
fn a_seal_and_its_result_are_the_envelope_again() {
    let ring = ring();
    let envelope = sealed(&ring);
    let rebuilt = Envelope::from_seal(&envelope.to_seal(), &CALL, ANSWER);
    assert_eq!(rebuilt, envelope);
    assert_eq!(ring.verify(&rebuilt, &CALL), Ok(()));
    let altered = Envelope::from_seal(&envelope.to_seal(), &CALL, "The pump takes 13 Nm.");
    assert_eq!(ring.verify(&altered, &CALL), Err(EnvelopeError::BadSignature));
}

#[test]
fn an_envelope_is_json_with_nothing_unsigned_in_it() {
    let envelope = sealed(&ring());
    let text = serde_json::to_string(&envelope).expect("JSON");
    assert_eq!(serde_json::from_str::<Envelope>(&text).expect("it reads back"), envelope);
    let more = text.replacen('{', r#"{"trusted":true,"#, 1);
    assert!(serde_json::from_str::<Envelope>(&more).is_err());
}

/// Moving a letter across a field boundary changes the signed bytes.
#[test]
fn fields_do_not_run_into_each_other() {
    let envelope = sealed(&ring());
    let moved = Envelope { session: "wor".to_owned(), call_id: "kcall_7".to_owned(), ..envelope.clone() };
    assert_ne!(moved.signed_bytes(), envelope.signed_bytes());
}

type Verifier<'a> = &'a dyn Fn(&Envelope, &CallBinding<'_>) -> bool;

/// Flips every bit of an envelope, as JSON and field by field; counts the altered envelopes that are accepted.
fn accepted_after_flips(envelope: &Envelope, binding: &CallBinding<'_>, accepts: Verifier<'_>) -> usize {
    let mut wrong = 0;
    let mut tried = 0;
    let mut try_one = |altered: &Envelope| {
        // Another spelling of the same text (an uppercase escape) is the same envelope.
        if altered != envelope {
            tried += 1;
            wrong += usize::from(accepts(altered, binding));
        }
    };
    for bytes in flips(serde_json::to_string(envelope).expect("JSON").as_bytes()) {
        if let Ok(altered) = serde_json::from_slice::<Envelope>(&bytes) {
            try_one(&altered);
        }
    }
    let fields: [fn(&mut Envelope) -> &mut String; 10] = [
        |e| &mut e.result_id,
        |e| &mut e.payload,
        |e| &mut e.sig,
        |e| &mut e.key_id,
        |e| &mut e.session,
        |e| &mut e.call_id,
        |e| &mut e.tool,
        |e| &mut e.args_sha256,
        |e| &mut e.result_sha256,
        |e| &mut e.nonce,
    ];
    for field in fields {
        let mut altered = envelope.clone();
        let original = field(&mut altered).clone();
        for bytes in flips(original.as_bytes()) {
            if let Ok(text) = String::from_utf8(bytes) {
                *field(&mut altered) = text;
                try_one(&altered);
            }
        }
    }
    for bit in 0..64 {
        try_one(&Envelope { issued_at: Stamp(envelope.issued_at.0 ^ (1 << bit)), ..envelope.clone() });
    }
    assert!(tried > 1_000, "only {tried} altered envelopes could be read at all");
    wrong
}

fn flips(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let bytes = bytes.to_vec();
    (0..bytes.len() * 8).map(move |bit| {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        flipped
    })
}

/// Issue: every bit of 100 envelopes flipped, all refused.
#[test]
fn every_flipped_bit_is_refused() {
    let ring = Keyring::generate().expect("random bytes");
    for at in 0..100_usize {
        let payload = ANSWER.chars().cycle().skip(at).take(at / 2).collect::<String>();
        let (call_id, arguments) = (format!("call_{at}"), format!("{{\"n\":{at}}}"));
        let binding = CallBinding { call_id: &call_id, arguments: &arguments, ..CALL };
        let envelope = ring.seal(&binding, payload, NOW).expect("random bytes");
        assert!(open_once(&ring, &envelope, &binding, NOW).is_ok());
        let accepts = |altered: &Envelope, call: &CallBinding<'_>| open_once(&ring, altered, call, NOW).is_ok();
        assert_eq!(accepted_after_flips(&envelope, &binding, &accepts), 0, "envelope {at}");
    }
}

/// The test above can fail: it catches verifiers that skip a part.
#[test]
fn a_verifier_that_skips_the_signature_is_caught() {
    let ring = ring();
    let envelope = sealed(&ring);
    let forgetful = |altered: &Envelope, call: &CallBinding<'_>| {
        altered.session == call.session && altered.result_sha256 == sha256(&altered.payload)
    };
    assert!(accepted_after_flips(&envelope, &CALL, &forgetful) > 0);
    // A verifier of half the signature accepts every flip in the other half.
    let half = |altered: &Envelope, _: &CallBinding<'_>| {
        let sig = ring.current().sign(&altered.signed_bytes());
        altered.sig.get(..32) == sig.get(..32)
    };
    assert!(accepted_after_flips(&envelope, &CALL, &half) > 0);
}

proptest! {
    /// Any text in any field: accepted as signed, refused for any other call.
    #[test]
    fn any_call_is_bound(
        session in "\\PC{0,8}", call_id in "\\PC{0,8}", tool in "\\PC{0,8}", arguments in "\\PC{0,8}",
        other in "\\PC{0,8}", payload in ".{0,40}",
    ) {
        let ring = ring();
        let binding = CallBinding { session: &session, call_id: &call_id, tool: &tool, arguments: &arguments };
        let envelope = ring.seal(&binding, payload.clone(), NOW).expect("random bytes");
        prop_assert_eq!(open_once(&ring, &envelope, &binding, NOW), Ok(payload));
        for moved in [
            CallBinding { session: &other, ..binding },
            CallBinding { call_id: &other, ..binding },
            CallBinding { tool: &other, ..binding },
            CallBinding { arguments: &other, ..binding },
        ] {
            prop_assert_eq!(open_once(&ring, &envelope, &moved, NOW).is_ok(), moved == binding);
        }
    }
}
