//! `cargo xtask secrets <gitleaks.toml>` generates our copy of the gitleaks rules for secrets.
//!
//! The core reads no TOML. A scanner needs one finding per file; we must mask every occurrence, in prose and JSON
//! as well as in files. So each rule is rewritten, and useless ones are dropped:
//!
//! - drops the part before a service's name, which only widens the reported match;
//! - lets the end of a sentence, a bracket, a comma or an ampersand end a secret, too;
//! - allows a backslash before the quotes around a value: tool calls are JSON inside JSON;
//! - masks the whole match where the reported group is not the secret;
//! - computes the length of a match, so that only the neighbourhood of the keyword is scanned.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::root;

const TARGET: &str = "crates/neap-core/src/text/secrets/gitleaks.txt";
const HEAD: &str = "\
# The default rules of gitleaks (https://github.com/gitleaks/gitleaks, MIT licence, see THIRD-PARTY.md), rewritten by
# `cargo xtask secrets <path to config/gitleaks.toml>`. Do not edit by hand; rules of our own are in ours.txt.
";
/// Dropped rules, with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("pkcs12-file", "is about names of files"),
    ("curl-auth-header", "finds one of several; ours are in ours.txt"),
    ("curl-auth-user", "finds one of several; ours are in ours.txt"),
    ("kubernetes-secret-yaml", "finds the first entry only; ours reads the block"),
    ("hashicorp-tf-password", "is about one kind of file; names of passwords are known everywhere"),
    ("private-key", "needs the end of the block; ours also takes one that was cut off"),
];
/// Rules whose group is not the secret.
const MASKED_WHOLE: &[&str] = &["microsoft-teams-webhook", "jwt-base64"];
/// Keywords that occur in ordinary words: this many token characters must follow directly.
const RUN_LENGTHS: &[(&str, usize)] = &[("twilio-api-key", 32), ("jwt", 17), ("vault-service-token", 24)];
/// How far an unbounded rule is searched at first; a longer match is then taken whole.
const REACH_OF_ENDLESS: usize = 4_096;
/// Rules that may need more than that to match at all.
const REACH_ALL: &[&str] = &["jwt"];
/// Rules whose exceptions are example keys: the list itself would be reported as a leak, and masking one harms
/// nobody.
const EXCEPTIONS_LEFT_OUT: &[&str] = &["gcp-api-key"];
/// A commit hash near the service's name is no token.
const DROPPED_ALTERNATIVES: &[(&str, &str)] = &[("sourcegraph-access-token", "|[a-fA-F0-9]{40})")];
/// Precedes the service's name in most rules.
const BEFORE_NAME: &str = r"[\w.-]{0,50}?";
/// Between a name and its value.
const BETWEEN: &str = r#"[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"#;
const BETWEEN_HERE: &str = r#"[\s'"\\]{0,5}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=\\]{0,6}"#;
/// The same inside a group that ends with the name.
const BETWEEN_GROUP: &str = r#"[\s'"]{0,3})(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"#;
const BETWEEN_GROUP_HERE: &str = r#"[\s'"\\]{0,5})(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=\\]{0,6}"#;
/// What may end a secret.
const END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
const END_OF_NAMED: &str = r#"(?:[\x60'"\s;,)}\]<&]|\\[nrt"'\\]|\.(?:\s|$)|$)"#;
const END_OF_TOKEN: &str = r"(?:[^0-9A-Za-z_-]|$)";

pub(crate) fn run(source: Option<String>) -> Result<()> {
    let source = source.context("name the file: cargo xtask secrets <path to config/gitleaks.toml>")?;
    let text = std::fs::read_to_string(&source).with_context(|| format!("cannot read {source}"))?;
    let table: Table = text.parse().context("not TOML")?;
    let mut out = HEAD.to_owned();
    let global = table.get("allowlist").and_then(Value::as_table).context("no allowlist")?;
    out.push_str("\n[*]\n");
    for regex in strings(global, "regexes") {
        writeln!(out, "allow {}", check_regex(&regex)?.0)?;
    }
    writeln!(out, "stop {}", stop_words(global)?)?;
    let (mut written, mut left_out) = (0, 0);
    for rule in table.get("rules").and_then(Value::as_array).context("no rules")? {
        let rule = rule.as_table().context("a rule is no table")?;
        let id = rule.get("id").and_then(Value::as_str).context("a rule without an id")?;
        if LEFT_OUT.iter().any(|(out, _)| *out == id) {
            left_out += 1;
            continue;
        }
        write_rule(&mut out, id, rule).with_context(|| format!("rule {id}"))?;
        written += 1;
    }
    let target = root().join(TARGET);
    write(&target, &out)?;
    println!("{written} rules written to {TARGET}, {left_out} left out");
    Ok(())
}

fn write_rule(out: &mut String, id: &str, rule: &Table) -> Result<()> {
    let regex = rule.get("regex").and_then(Value::as_str).context("no form")?;
    let (form, reach) = check_regex(&rewrite(id, regex))?;
    let keywords = strings(rule, "keywords");
    if keywords.is_empty() || keywords.iter().any(|word| word.contains(char::is_control)) {
        bail!("its keywords cannot be looked for");
    }
    write!(out, "\n[{id}]\n")?;
    for word in keywords {
        writeln!(out, "keyword {word}")?;
    }
    writeln!(out, "form {form}")?;
    match reach {
        None if REACH_ALL.contains(&id) => out.push_str("reach all\n"),
        reach => writeln!(out, "reach {}", reach.unwrap_or(REACH_OF_ENDLESS))?,
    }
    // The form has nothing beside the name, so the keyword is in the name.
    if is_named(regex) && !form.contains("|\\b(") {
        out.push_str("given\n");
    }
    if let Some(bits) =
        rule.get("entropy").and_then(|bits| bits.as_float().or(bits.as_integer().map(|n| n as f64)))
    {
        writeln!(out, "entropy {bits}")?;
    }
    if let Some(group) = rule.get("secretGroup").and_then(Value::as_integer) {
        writeln!(out, "group {group}")?;
    }
    if MASKED_WHOLE.contains(&id) {
        out.push_str("group 0\n");
    }
    if let Some((_, run)) = RUN_LENGTHS.iter().find(|(name, _)| *name == id) {
        writeln!(out, "run {run}")?;
    }
    // Upstream's scanner does this in code; conversations are about code, too.
    if id.starts_with("generic") {
        out.push_str("digit\nno-name\nno-hash\n");
    }
    for allowed in rule.get("allowlists").and_then(Value::as_array).into_iter().flatten() {
        let allowed = allowed.as_table().context("an allowlist is no table")?;
        // Our texts have no paths.
        if allowed.contains_key("paths") || EXCEPTIONS_LEFT_OUT.contains(&id) {
            continue;
        }
        let directive = match allowed.get("regexTarget").and_then(Value::as_str) {
            None => "allow",
            Some("match") => "allow-match",
            Some("line") => "allow-line",
            Some(other) => bail!("an allowlist of {other}"),
        };
        for regex in strings(allowed, "regexes") {
            writeln!(out, "{directive} {}", check_regex(&regex)?.0)?;
        }
        let words = stop_words(allowed)?;
        if !words.is_empty() {
            writeln!(out, "stop {words}")?;
        }
    }
    Ok(())
}

fn rewrite(id: &str, regex: &str) -> String {
    let mut form = regex.to_owned();
    for (_, dropped) in DROPPED_ALTERNATIVES.iter().filter(|(name, _)| *name == id) {
        form = form.replace(dropped, ")");
    }
    let is_named = is_named(&form);
    form = form.replace(BEFORE_NAME, "");
    form = form.replace(BETWEEN_GROUP, BETWEEN_GROUP_HERE).replace(BETWEEN, BETWEEN_HERE);
    form.replace(END, if is_named { END_OF_NAMED } else { END_OF_TOKEN })
}

/// Whether a form is a name, a sign and a value.
fn is_named(form: &str) -> bool {
    form.contains(BETWEEN) || form.contains(BETWEEN_GROUP)
}

/// The form in our regex syntax, and the most bytes it can match.
fn check_regex(form: &str) -> Result<(String, Option<usize>)> {
    let form = escape_braces(form);
    if form.contains('\n') {
        bail!("a form of more than one line");
    }
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    let parsed = parser.parse(&form).with_context(|| format!("not a form: {form}"))?;
    Ok((form, parsed.properties().maximum_len()))
}

/// Escapes braces that begin no repetition; upstream's dialect does not require that.
fn escape_braces(form: &str) -> String {
    let bytes = form.as_bytes();
    let mut out = String::with_capacity(form.len());
    for (at, c) in form.char_indices() {
        let is_escaped = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
        if c == '{' && !is_escaped {
            let inner = form[at + 1..].split('}').next().unwrap_or_default();
            let counts = inner.split(',').all(|n| n.bytes().all(|b| b.is_ascii_digit()));
            if inner.is_empty() || inner.starts_with(',') || !counts {
                out.push('\\');
            }
        }
        out.push(c);
    }
    out
}

fn stop_words(table: &Table) -> Result<String> {
    let words = strings(table, "stopwords");
    if words.iter().any(|word| word.contains(char::is_whitespace)) {
        bail!("a stop word of several words");
    }
    Ok(words.join(" "))
}

fn strings(table: &Table, key: &str) -> Vec<String> {
    let list = table.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

#[allow(clippy::disallowed_methods, reason = "a file of the repository, which git has whole")]
fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
