//! Keys and scopes, as examples and for anything that can be typed.

use proptest::prelude::*;

use super::*;
use crate::base::ids::Stamp;

fn key(byte: u8) -> (AccessKey, String) {
    AccessKey::generate(&[byte; 38])
}

fn record(key: &AccessKey, scope: Scope) -> KeyRecord {
    KeyRecord {
        id: key.id().clone(),
        tenant: TenantRecord::local(),
        label: String::new(),
        scope,
        agent: None,
        limits: KeyLimits::default(),
        secret: *key.digest(),
        former: None,
        created: Stamp(0),
        expires: None,
        revoked: None,
        last_used: None,
    }
}

#[test]
fn a_key_holds_until_it_expires_or_is_revoked_and_only_its_owner_learns_why() {
    let ((mine, _), (other, _)) = (key(1), key(2));
    let now = Stamp(1_000);
    let kept = record(&mine, Scope::everything());
    assert_eq!(kept.check(&mine, now), Ok(()));
    assert_eq!(kept.check(&other, now), Err(KeyFault::Unknown));
    let (same_id, _) = AccessKey::renew(mine.id(), &[9; 32]);
    let expired = KeyRecord { expires: Some(now), ..kept.clone() };
    let revoked = KeyRecord { revoked: Some(Stamp(1)), ..kept };
    for (kept, why) in [(&expired, KeyFault::Expired), (&revoked, KeyFault::Revoked)] {
        assert_eq!(kept.check(&mine, now), Err(why));
        assert_eq!(kept.check(&same_id, now), Err(KeyFault::Unknown), "a guess learns nothing");
    }
    assert_eq!(expired.check(&mine, Stamp(999)), Ok(()));
}

#[test]
fn a_former_secret_holds_until_its_time() {
    let (old, _) = key(1);
    let (new, _) = AccessKey::renew(old.id(), &[7; 32]);
    let kept = KeyRecord { former: Some((*old.digest(), Stamp(50))), ..record(&new, Scope::everything()) };
    assert_eq!((kept.check(&new, Stamp(49)), kept.check(&old, Stamp(49))), (Ok(()), Ok(())));
    assert_eq!((kept.check(&new, Stamp(50)), kept.check(&old, Stamp(50))), (Ok(()), Err(KeyFault::Unknown)));
}

#[test]
fn a_key_is_not_shown_by_mistake() {
    let (key, text) = key(0xab);
    let secret = text.rsplit('_').next().expect("a secret");
    assert!(!format!("{key:?}{:?}", key.digest()).contains(&secret[..16]));
    assert_eq!(text.parse::<AccessKey>().map_err(|_| ()), Ok(key));
    assert!(AccessKey::is_in(format!("Bearer x{text}y").as_bytes()));
    assert!(!AccessKey::is_in(&text.as_bytes()[..text.len() - 1]) && !AccessKey::is_in(b"neap_x"));
    let error = text[..text.len() - 1].parse::<AccessKey>().expect_err("it is cut").to_string();
    assert!(!error.contains(&secret[..16]), "{error}");
}

fn a_scope() -> impl Strategy<Value = Scope> {
    let surfaces = prop::sample::subsequence(Surface::ALL.to_vec(), 1..=Surface::ALL.len());
    (prop::sample::select(Level::ALL.to_vec()), surfaces).prop_map(|(level, surfaces)| Scope {
        level,
        surfaces: Surfaces::try_from(surfaces).expect("one at least"),
    })
}

proptest! {
    #[test]
    fn keys_read_back_and_nothing_else_is_a_key(random in prop::array::uniform32(any::<u8>()), at in 0usize..82, to in "[ -~é]") {
        let mut bytes = [0; 38];
        bytes[..32].copy_from_slice(&random);
        let (key, text) = AccessKey::generate(&bytes);
        prop_assert_eq!(text.len(), 82);
        prop_assert_eq!(&text.parse::<AccessKey>().expect("a key"), &key);
        let mut changed = text.clone();
        changed.replace_range(at..=at, &to);
        // What is changed anywhere is another key, or none.
        if changed != text {
            let is_same = changed.parse::<AccessKey>().is_ok_and(|other| other == key);
            prop_assert!(!is_same);
        }
    }

    #[test]
    fn scopes_read_back(scope in a_scope()) {
        prop_assert_eq!(scope.to_string().parse::<Scope>(), Ok(scope));
        let json = serde_json::to_string(&scope).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Scope>(&json).expect("a scope"), scope);
    }

    #[test]
    fn a_scope_allows_what_it_names_and_no_more(scope in a_scope(), level in prop::sample::select(Level::ALL.to_vec()), surface in prop::sample::select(Surface::ALL.to_vec())) {
        let (key, _) = key(3);
        let kept = record(&key, scope);
        let is_named = scope.surfaces.iter().any(|named| named == surface);
        let is_high = match (scope.level, level) {
            (Level::Admin, _) | (_, Level::Read) | (Level::Write, Level::Write) => true,
            (Level::Read | Level::Write, Level::Write | Level::Admin) => false,
        };
        prop_assert_eq!(kept.allows(level, Some(surface)).is_ok(), is_named && is_high);
        prop_assert_eq!(kept.allows(level, None).is_ok(), is_high);
    }

    #[test]
    fn no_text_is_a_scope_by_chance(text in "[a-z:,]{0,20}") {
        if let Ok(scope) = text.parse::<Scope>() {
            prop_assert!(scope.surfaces.iter().count() > 0);
        }
    }
}
