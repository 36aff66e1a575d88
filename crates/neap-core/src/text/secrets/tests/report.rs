//! Counts hits and misses of every format.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::mask;
use super::formats::{FORMATS, Told};
use super::generate::{Random, unmarked};
use super::harmless::HARMLESS;

pub(super) const VALUES: u64 = 4;

/// Contexts for a secret that its own pattern identifies; nothing around it gives it away.
const ANYWHERE: &[(&str, &str)] = &[
    ("env", "RETRIES=3\nUPSTREAM=@\nPORT=80\n"),
    ("json", "{\"upstream\": \"@\", \"retries\": 3}"),
    ("yaml", "upstream: @\nretries: 3\n"),
    ("shell", "./deploy.sh --with @ --now"),
    ("prose", "Please use @, it still works."),
    ("end of a sentence", "I rotated it and the new one is @."),
    ("url", "https://host.example/v1/run?via=@&page=2"),
    ("header", "GET / HTTP/1.1\r\nX-Upstream: @\r\nAccept: */*\r\n"),
    ("code", "client = Client(\"@\")  # one per process"),
    ("json in json", "{\"body\": \"{\\\"upstream\\\": \\\"@\\\"}\"}"),
    ("markdown", "- the value `@` (see below)"),
    ("log", "2026-01-05T10:00:00Z INFO upstream=@ took 30 ms"),
    ("escaped line", "{\"content\": \"keys:\\n@\\nend\"}"),
    ("escaped tab", "{\"content\": \"a\\t@\\r\\n\"}"),
    ("escaped twice", "{\"body\": \"{\\\"content\\\": \\\"keys:\\\\n@\\\\n\\\"}\"}"),
    ("escaped sign", "{\"url\": \"https:\\/\\/host.example\\/v1?via=1\\u0026with=1\\u003e@\\u003c\"}"),
    ("colour", "\u{1b}[32m@\u{1b}[0m done"),
];

/// Ways to assign a value to a name; `#` is the name.
const GIVEN: &[(&str, &str)] = &[
    ("env", "RETRIES=3\n#=@\nPORT=80\n"),
    ("export", "export #='@'"),
    ("json", "{\"user\": \"tim\", \"#\": \"@\"}"),
    ("yaml", "user: tim\n#: \"@\"\nport: 80\n"),
    ("toml", "user = \"tim\"\n# = \"@\"\n"),
    ("docker", "docker run -e \"#=@\" -p 80:80 app"),
    ("code", "    # = \"@\";"),
    ("json in json", "{\"body\": \"{\\\"#\\\": \\\"@\\\"}\"}"),
    ("escaped line", "{\"content\": \"RETRIES=3\\n#=@\\nPORT=80\\n\"}"),
    ("escaped twice", "{\"body\": \"{\\\"content\\\": \\\"A=3\\\\n#=@\\\\nB=80\\\"}\"}"),
];

/// Whether a format or look-alike was not used while writing the rules.
fn is_held_out(name: &str) -> bool {
    let sum = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (sum >> 17) % 3 == 0
}

/// Texts of one format: context, text, secrets in it.
pub(super) fn texts(name: &str, kind: Told, seed: u64) -> Vec<(&'static str, String, Vec<String>)> {
    let base = name.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut out = Vec::new();
    for n in 0..VALUES {
        let mut random = Random::new(base.wrapping_mul(1_000).wrapping_add(n));
        match kind {
            Told::Form(form) => {
                for (context, around) in ANYWHERE {
                    let value = random.fill(form);
                    // A JSON string has no line breaks.
                    let is_one_line = ["json", "code", "escaped"].iter().any(|word| context.contains(word));
                    let value = if is_one_line { value.replace('\n', "\\n") } else { value };
                    let (value, marked) = unmarked(&value);
                    let secrets = if marked.is_empty() { vec![value.clone()] } else { marked };
                    out.push((*context, around.replace('@', &value), secrets));
                }
            }
            Told::Name(names, form) => {
                for (context, around) in GIVEN {
                    let value = random.fill(form);
                    let name = names[random.below(names.len())];
                    let quote = match *context {
                        _ if !value.contains(' ') => "",
                        "env" => "\"",
                        "escaped line" => "\\\"",
                        "escaped twice" => "\\\\\\\"",
                        _ => "",
                    };
                    let shown = format!("{quote}{value}{quote}");
                    out.push((*context, around.replace('#', name).replace('@', &shown), vec![value]));
                }
            }
            Told::Around(form) => {
                let (text, secrets) = unmarked(&random.fill(form));
                out.push(("as it is", text, secrets));
            }
        }
    }
    out
}

/// Whether no eight characters in a row are left of a secret.
pub(super) fn is_hidden(masked: &str, secret: &str) -> bool {
    let chars: Vec<char> = secret.chars().collect();
    let length = chars.len().min(8);
    chars.windows(length).all(|part| !masked.contains(&part.iter().collect::<String>()))
}

#[derive(Default, Clone)]
struct Tally {
    hits: usize,
    all: usize,
    missed: BTreeMap<&'static str, String>,
}

fn tally(name: &str, kind: Told, seed: u64) -> Tally {
    let mut tally = Tally::default();
    for (context, text, secrets) in texts(name, kind, seed) {
        // A label may contain a word of the format.
        let masked = super::without_labels(&mask(&text).0);
        for secret in secrets {
            tally.all += 1;
            if is_hidden(&masked, &secret) {
                tally.hits += 1;
            } else {
                tally.missed.insert(context, format!("{text:?} -> {masked:?}"));
            }
        }
    }
    tally
}

/// How many texts of a look-alike are masked, and the last of them.
fn masked_of(form: &str, seed: u64) -> (usize, Option<String>) {
    let texts: Vec<String> = (0..VALUES).map(|n| Random::new(seed * 1_000 + n).fill(form)).collect();
    let masked: Vec<String> =
        texts.iter().map(|text| mask(text)).filter(|(_, n)| *n > 0).map(|(text, _)| text).collect();
    (masked.len(), masked.last().cloned())
}

struct Share {
    hits: usize,
    all: usize,
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = 100.0 * self.hits as f64 / self.all.max(1) as f64;
        write!(f, "{} of {} ({percent:.1} %)", self.hits, self.all)
    }
}

/// Formats with their counts; held-out formats have a seed of their own.
fn measured(held_out: bool) -> Vec<(&'static str, Tally)> {
    let seed = if held_out { 9_001 } else { 1 };
    let some = FORMATS.iter().filter(|(name, _)| is_held_out(name) == held_out);
    some.map(|(name, kind)| (*name, tally(name, *kind, seed))).collect()
}

fn look_alikes(held_out: bool) -> Vec<(&'static str, (usize, Option<String>))> {
    let seed = if held_out { 9_001 } else { 1 };
    let some = HARMLESS.iter().filter(|(name, _)| is_held_out(name) == held_out);
    some.map(|(name, form)| (*name, masked_of(form, seed))).collect()
}

fn share(tallies: &[(&str, Tally)]) -> Share {
    let (hits, all) = tallies.iter().fold((0, 0), |(hits, all), (_, one)| (hits + one.hits, all + one.all));
    Share { hits, all }
}

fn share_masked(tallies: &[(&str, (usize, Option<String>))]) -> Share {
    let hits = tallies.iter().map(|(_, (masked, _))| masked).sum();
    Share { hits, all: tallies.len() * VALUES as usize }
}

#[test]
fn formats_that_were_looked_at_are_found() {
    let (found, harmless) = (measured(false), look_alikes(false));
    let missed: Vec<_> =
        found.iter().flat_map(|(name, tally)| tally.missed.iter().map(move |one| (name, one))).collect();
    let wrongly: Vec<_> = harmless.iter().filter(|(_, (masked, _))| *masked > 0).collect();
    let (found, masked) = (share(&found), share_masked(&harmless));
    assert!(found.hits * 100 >= found.all * 97, "{found}: {missed:#?}");
    assert!(masked.hits * 100 <= masked.all * 2, "{masked}: {wrongly:#?}");
}

#[test]
fn formats_that_were_held_out_are_found() {
    let (found, masked) = (share(&measured(true)), share_masked(&look_alikes(true)));
    assert!(found.hits * 100 >= found.all * 97, "{found}");
    assert!(masked.hits * 100 <= masked.all * 2, "{masked}");
}

#[test]
fn what_is_found_and_what_is_missed() {
    let mut out = String::new();
    let mut part = |title: &str, held_out: bool| {
        let (found, harmless) = (measured(held_out), look_alikes(held_out));
        let _ = writeln!(out, "{title}: {} formats, found {}", found.len(), share(&found));
        for (name, tally) in &found {
            let missed = tally.missed.keys().copied().collect::<Vec<_>>().join(", ");
            let missed = if missed.is_empty() { missed } else { format!("  missed in: {missed}") };
            let _ = writeln!(out, "  {name:34} {:3} of {:3}{missed}", tally.hits, tally.all);
        }
        let _ = writeln!(out, "{title}: {} look-alikes, masked {}", harmless.len(), share_masked(&harmless));
        for (name, (masked, _)) in &harmless {
            let _ = writeln!(out, "  {name:34} {masked:3} of {VALUES:3}");
        }
    };
    part("looked at while rules were written", false);
    part("held out", true);
    insta::assert_snapshot!(out);
}
