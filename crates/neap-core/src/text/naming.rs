//! Makes ids of names from outside (a model's, a user's): slugs without the names' secrets. A session's or agent's
//! name that is longer than a slug ends in a digest of all of it, so that two long names never become one id (I11).

use super::secrets::mask_name;
use crate::base::digest::Digest;
use crate::base::ids::{AgentId, EffortId, NameError, SLUG_BYTES_MAX, SLUG_CHARS_MAX, SessionId, cut_slug, slug};
use crate::base::model_name::ModelName;
use crate::base::project_id::ProjectId;

/// Bytes of a name that are searched for secrets: more than fit an id, so that each secret is seen whole.
const NAME_BYTES_MAX: usize = 4_096;
/// Characters left for words beside a whole digest. At four bytes each they fit the byte limit as well.
const WORDS_CHARS_MAX: usize = 31;
/// Enough to tell one person's folders apart.
const FOLDER_DIGEST_CHARS: usize = 8;

macro_rules! named_id {
    ($name:ident made by $make:ident) => {
        impl $name {
            /// Makes the id of a free-form name, without its secrets; fails only if nothing is left.
            pub fn from_name(name: &str) -> Result<Self, NameError> {
                $make(&mask_for_id(name)).map(|slug| Self::from_slug(mask_stable(slug)))
            }
        }
    };
}

named_id!(EffortId made by cut_slug);
named_id!(SessionId made by whole_slug);
named_id!(AgentId made by whole_slug);

macro_rules! digest_id {
    ($name:ident) => {
        impl $name {
            /// Words make it readable, the whole digest makes it unique.
            pub fn with_digest(words: &str, digest: &Digest) -> Self {
                Self::from_slug(slug_with_digest(words, digest))
            }
        }
    };
}

digest_id!(SessionId);
digest_id!(AgentId);

impl ModelName {
    /// The name without its secrets; `None` if nothing is left of it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::of_safe_name(&mask_for_id(name))
    }
}

impl ProjectId {
    /// Makes the id of a name or of a repository's place, without its secrets. A digest covers what does not fit.
    pub fn from_name(name: &str) -> Result<Self, NameError> {
        let safe = mask_for_id(name);
        Self::of_safe_name(&safe).or_else(|error| match error {
            NameError::Empty => Err(NameError::Empty),
            NameError::NotCanonical(_) => {
                let words = slug(&safe, WORDS_CHARS_MAX, SLUG_BYTES_MAX)?.0;
                Self::of_safe_name(&format!("{words}-{}", Digest::of("project", &[name.as_bytes()])))
            }
        })
    }

    /// A folder's name, with a digest of its path: folders of one name are different projects.
    pub fn of_folder(name: &str, path: &str) -> Result<Self, NameError> {
        let digest = Digest::of("project", &[path.as_bytes()]).to_string();
        let words = slug(&mask_for_id(name), WORDS_CHARS_MAX, SLUG_BYTES_MAX)
            .map_or_else(|_| "folder".to_owned(), |(words, _)| words);
        Self::of_safe_name(&format!("{words}-{}", &digest[..FOLDER_DIGEST_CHARS]))
    }
}

impl EffortId {
    /// Appends a number; shortens the id if needed.
    pub(crate) fn numbered(&self, n: u64) -> Self {
        let end = format!("-{n}");
        let cut = slug(self.as_str(), SLUG_CHARS_MAX - end.len(), SLUG_BYTES_MAX - end.len());
        let words = cut.map(|(words, _)| words).unwrap_or_default();
        Self::from_slug(mask_stable(format!("{words}{end}").trim_start_matches('-').to_owned()))
    }
}

/// Masks secrets. What lies beyond the searched bytes is replaced by its digest, so that all of the name counts.
pub(crate) fn mask_for_id(name: &str) -> String {
    let (head, rest) = name.split_at(name.floor_char_boundary(NAME_BYTES_MAX));
    match rest.is_empty() {
        true => mask_name(head),
        false => format!("{} {}", mask_name(head), Digest::of("name", &[rest.as_bytes()])),
    }
}

/// A slug in which all of the name counts: a digest covers what does not fit.
fn whole_slug(name: &str) -> Result<String, NameError> {
    match slug(name, SLUG_CHARS_MAX, SLUG_BYTES_MAX)? {
        (slug, true) => Ok(slug),
        (_, false) => {
            let (whole, _) = slug(name, usize::MAX, usize::MAX)?;
            Ok(slug_with_digest(&whole, &Digest::of("name", &[whole.as_bytes()])))
        }
    }
}

/// Words for people, and a whole digest that makes them unique.
fn slug_with_digest(words: &str, digest: &Digest) -> String {
    let words = cut_slug(words).unwrap_or_default();
    let words: String = words.chars().take(WORDS_CHARS_MAX).collect();
    mask_stable(format!("{}-{digest}", words.trim_end_matches('-')).trim_start_matches('-').to_owned())
}

/// Shortens an id until masking leaves it alone: a digest behind some words looks like a key.
fn mask_stable(id: String) -> String {
    let is_stable = |id: &str| mask_name(id) == id;
    if is_stable(&id) {
        return id;
    }
    let (mut words, last) = id.rsplit_once('-').unwrap_or(("", &id));
    while let Some((fewer, _)) = words.rsplit_once('-') {
        words = fewer;
        let shorter = format!("{words}-{last}");
        if is_stable(&shorter) {
            return shorter;
        }
    }
    Digest::of("name", &[id.as_bytes()]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::StreamId;

    #[track_caller]
    fn check(name: &str, want: &str) {
        let id = EffortId::from_name(name).expect("has letters");
        assert_eq!(id.as_str(), want);
        assert_eq!(EffortId::parse(want), Ok(id), "a slug is its own slug");
    }

    /// SOURCES, CCM defects: `../../evil name` accepted as id and path.
    #[test]
    fn ccm_defect_hostile_names_become_harmless_slugs() {
        check("../../evil name", "evil-name");
        check("/etc/passwd", "etc-passwd");
        check("C:\\Windows\\..", "c-windows");
        check("auth_bug", "auth-bug");
        check("  Auth   Bug!! ", "auth-bug");
        check("fix 🐛 now\0", "fix-now");
        check("Über-Größe", "über-größe");
        check("修复登录", "修复登录");
    }

    #[test]
    fn a_name_without_letters_is_refused() {
        for name in ["", "   ", "🐛🐛", "../..", "\0", "---"] {
            assert_eq!(EffortId::from_name(name), Err(NameError::Empty), "{name:?}");
        }
    }

    #[test]
    fn a_four_kilobyte_name_is_cut_to_a_file_name() {
        let id = EffortId::from_name(&"ab ".repeat(1400)).expect("has letters");
        assert!(id.as_str().chars().count() <= SLUG_CHARS_MAX);
        assert!(!id.as_str().ends_with('-'));
        assert_eq!(EffortId::parse(id.as_str()), Ok(id.clone()));
        let wide = EffortId::from_name(&"修".repeat(4000)).expect("has letters");
        assert!(wide.as_str().len() <= SLUG_BYTES_MAX);
    }

    /// I11: every character of a name counts, even those that do not fit a slug.
    #[test]
    fn long_names_with_one_beginning_stay_apart() {
        let long = "the quarterly planning of the harbour and all of its many smaller piers";
        for (one, two) in [
            (format!("{long} 1"), format!("{long} 2")),
            ("x".repeat(64) + "a", "x".repeat(64) + "b"),
            ("修".repeat(60) + "a", "修".repeat(60) + "b"),
        ] {
            let [a, b] = [&one, &two].map(|name| SessionId::from_name(name).expect("has letters"));
            assert_ne!(a, b);
            assert_eq!(
                SessionId::from_name_truncated(&one),
                SessionId::from_name_truncated(&two),
                "they did become one"
            );
            assert_eq!(SessionId::parse(a.as_str()), Ok(a.clone()), "and are ids");
            assert_eq!(
                SessionId::from_name(&one.to_uppercase()),
                Ok(a),
                "large and small letters are the same, as ever"
            );
            assert_ne!(AgentId::from_name(&one), AgentId::from_name(&two));
        }
        let fits = "x".repeat(64);
        assert_eq!(SessionId::from_name(&fits).expect("has letters").as_str(), fits);
        assert_eq!(SessionId::from_name(&format!("{fits}!?")), SessionId::from_name_truncated(&fits));
    }

    /// Secrets in a name do not enter its id, and long names stay distinct.
    #[test]
    fn ids_have_no_secrets_and_count_all_of_a_name() {
        let key = |n: u32| format!("gs{}_{}{n}", "k", "aB3dE6gH9jK2mN5pQ8sT1vW4".repeat(2));
        let [one, two] = [1, 2].map(|n| SessionId::from_name(&format!("rotate {}", key(n))).expect("a name"));
        assert!(one != two && !one.as_str().contains("ab3de6"), "{one}");
        // The last word is dropped: a digest behind it would look like a key.
        assert!(EffortId::from_name(&key(1)).is_ok_and(|id| id.as_str().starts_with("masked-groq-api-")));
        // An id is found by its own text.
        for words in ["api key", "rotate the mailgun key", "sk", "token"] {
            let marked = SessionId::with_digest(words, &Digest::of("test", &[words.as_bytes()]));
            assert_eq!(SessionId::from_name(marked.as_str()), Ok(marked.clone()));
        }
        assert_eq!(SessionId::from_name(one.as_str()), Ok(one));
        let long = "x".repeat(NAME_BYTES_MAX);
        let [a, b] = ["a", "b"].map(|end| SessionId::from_name(&format!("{long}{end}")));
        assert_ne!(a, b);
    }

    #[test]
    fn a_marked_id_has_the_whole_digest() {
        let mark = Digest::of("test", &[b"x"]);
        for words in ["", "talk", "../..", &"word ".repeat(40), &"修".repeat(200), &"𝒳".repeat(200)] {
            let id = SessionId::with_digest(words, &mark);
            assert!(id.as_str().ends_with(&mark.to_string()), "{id}");
            assert_eq!(SessionId::parse(id.as_str()), Ok(id.clone()));
            assert_eq!(AgentId::with_digest(words, &mark).as_str(), id.as_str());
        }
        assert_eq!(SessionId::with_digest("talk", &mark).as_str(), format!("talk-{mark}"));
    }

    /// An agent's stream is no session that anyone could name.
    #[test]
    fn an_agents_stream_has_an_id_that_no_name_becomes() {
        let agent = AgentId::from_name("Newton").expect("has letters");
        let stream = agent.stream();
        assert_eq!((stream.as_str(), stream.agent()), ("@newton", Some(agent)));
        assert_eq!(serde_json::from_str::<StreamId>("\"@newton\"").expect("stored so"), stream);
        assert!(SessionId::parse("@newton").is_err());
        assert_eq!(SessionId::from_name("@newton").expect("has letters").as_str(), "newton");
        assert!(serde_json::from_str::<SessionId>("\"@newton\"").is_err());
        assert!(serde_json::from_str::<StreamId>("\"@../x\"").is_err());
    }

    proptest::proptest! {
        #[test]
        fn every_slug_is_its_own_slug_and_safe(name in "\\PC{0,200}") {
            if let Ok(id) = EffortId::from_name(&name) {
                proptest::prop_assert_eq!(EffortId::parse(id.as_str()), Ok(id.clone()));
                proptest::prop_assert!(!id.as_str().contains(['/', '\\', '.', '\0', ' ']));
            }
        }
    }
}
