//! Decides whether a value that is assigned to a secret's name is a secret.

use std::ops::Range;

use super::assignments::{AssignedValue, AssignmentForm, AssignmentScanner};
use super::name_class::NameClass;
use super::scan_cost::looked_at;
use super::value::{
    entropy, is_code_name, is_identifier, is_mixed, is_non_secret, is_participle, is_prose, is_random,
    is_secret_like, is_uuid,
};

impl AssignmentScanner<'_> {
    pub(super) fn is_secret(&self, class: NameClass, name: &Range<usize>, value: &AssignedValue) -> bool {
        let (text, is_quoted) = (&self.text[value.range.clone()], value.is_quoted);
        looked_at(text.len());
        // The text between two quoted words.
        if is_quoted && text.starts_with(char::is_whitespace) {
            return false;
        }
        let text = text.trim();
        let without_slashes = text.contains("\\/").then(|| text.replace('\\', ""));
        let text = without_slashes.as_deref().unwrap_or(text);
        if text.is_empty() || is_non_secret(text) || is_path_or_url(text) {
            return false;
        }
        let is_folder = self.text[name.clone()].to_ascii_lowercase().ends_with("pwd") && text.starts_with('/');
        let is_number = is_quantity(text, if is_quoted { 0 } else { 2 });
        let is_hex = text.strip_prefix("0x").is_some_and(|hex| hex.len() <= 16);
        if !is_quoted && (is_number || is_hex) && b",;".contains(&self.byte(value.range.end)) {
            return false;
        }
        if is_folder || is_number && class != NameClass::Password {
            return false;
        }
        if !is_quoted && value.form == AssignmentForm::Colon && is_participle(text) {
            return false;
        }
        if text.contains(char::is_whitespace) {
            return class == NameClass::Password && text.len() <= 200 && !is_prose(text);
        }
        match class {
            NameClass::Weak => self.is_weak_secret(name, text, value),
            NameClass::Password => is_quoted || self.is_plain_password(name, text, value),
            NameClass::Strong if is_quoted || value.form == AssignmentForm::Structured => is_quoted_secret(text),
            NameClass::Strong => match value.form {
                AssignmentForm::Equals { is_spaced: false } => {
                    !self.is_variable(text, value) && !text.contains('_')
                        || is_mixed(text) && !is_path_of_names(text)
                }
                AssignmentForm::Equals { is_spaced: true } => {
                    let is_code = is_path_of_names(text) || is_code_name(text);
                    text.len() >= 8 && is_secret_like(text) && !is_code && has_digit_or_sign(text)
                }
                AssignmentForm::Colon => {
                    let is_code = is_path_of_names(text) || is_code_name(text) && text.len() >= 12;
                    is_secret_like(text) && has_digit_or_sign(text) && !is_code || is_random(text)
                }
                AssignmentForm::Flag => is_secret_like(text),
                AssignmentForm::Arrow | AssignmentForm::Structured => false,
            },
        }
    }

    fn is_weak_secret(&self, name: &Range<usize>, text: &str, value: &AssignedValue) -> bool {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_env = value.form == AssignmentForm::Equals { is_spaced: false } && self.is_env_line(name);
        match &self.text[name.clone()] {
            name if name.to_ascii_lowercase().ends_with("pass") => is_secret_like(text) && has_digit_or_sign(text),
            _ => text.len() >= 20 && (is_random(text) || is_uuid(text) && is_env) && (!is_hex || is_env),
        }
    }

    fn is_plain_password(&self, name: &Range<usize>, text: &str, value: &AssignedValue) -> bool {
        let is_ended = self.ends_line(value.range.end);
        match value.form {
            AssignmentForm::Equals { is_spaced: false } => !self.is_variable(text, value),
            AssignmentForm::Equals { is_spaced: true } => {
                let is_code =
                    is_path_of_names(text) || text.contains('_') || text.chars().skip(1).any(char::is_uppercase);
                has_digit_or_sign(text) && !is_path_of_names(text)
                    || is_identifier(text) && !is_code && is_ended && self.begins_line(name.start)
            }
            AssignmentForm::Colon => {
                is_secret_like(text) && has_digit_or_sign(text) && !is_path_of_names(text)
                    || is_ended && text.chars().any(char::is_alphanumeric) && !text.contains(['.', '('])
                    || is_ended && is_secret_like(text) && !is_identifier(text)
                    || text.ends_with(['.', '!', '?']) && is_ended
            }
            AssignmentForm::Flag => is_secret_like(text),
            AssignmentForm::Arrow => false,
            AssignmentForm::Structured => true,
        }
    }

    /// Whether the value is a variable: `connect(password=password, token=tok)`.
    fn is_variable(&self, text: &str, value: &AssignedValue) -> bool {
        let is_argument = b",)".contains(&self.byte(value.range.end));
        let is_folder = text.starts_with(['~', '.']);
        is_folder || is_identifier(text) && (is_argument || text.contains(['.', '_']))
    }

    fn ends_line(&self, at: usize) -> bool {
        matches!(self.byte(self.skip(at, b" \t\r")), b'\n' | b'#') || self.text[at..].starts_with("\\n")
    }

    fn begins_line(&self, start: usize) -> bool {
        let before = self.text.as_bytes()[..start].iter().rev().take(64).find(|byte| !b" \t".contains(byte));
        before.is_none_or(|byte| *byte == b'\n')
    }
}

/// Whether a quoted value assigned to a secret's name is one; plain words are more likely names themselves.
fn is_quoted_secret(text: &str) -> bool {
    if text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-. /".contains(&byte)) {
        let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
        return is_word && text.len() >= 16 && entropy(text) > 3.2;
    }
    !(is_path_of_names(text) || is_code_name(text) && text.len() >= 16 && text.contains(['_', '-', '.']))
}

fn has_digit_or_sign(text: &str) -> bool {
    let inner = text.trim_end_matches(['.', '!', '?', ':', ',']);
    inner.chars().any(|c| c.is_ascii_digit() || "!@#$%^*+~".contains(c))
}

/// `user.password`, `secret/data/shop`, `aws_secret.main.id`: names joined by punctuation.
fn is_path_of_names(text: &str) -> bool {
    let mut parts = text.split(['.', '/', ':', '#', '@']);
    let is_name = |part: &str| {
        let digits = part.bytes().filter(|byte| byte.is_ascii_digit()).count();
        part.len() <= 24
            && digits <= 2
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
            && !part.is_empty()
            && !part.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
            && !part.as_bytes()[0].is_ascii_digit()
    };
    text.contains(['.', '/', ':', '#']) && parts.all(is_name)
}

fn is_quantity(text: &str, unit: usize) -> bool {
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || b"_.,".contains(byte)).count();
    digits > 0
        && digits <= 12
        && text.len() - digits <= unit
        && text[digits..].bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_path_or_url(text: &str) -> bool {
    let is_path = text.starts_with("./") || text.starts_with("~/") || text.starts_with("../") || text == "~";
    let is_absolute = text.starts_with('/') && text[1..].contains('/') && !text.ends_with('=');
    let is_key = text.contains('+') || text.len() == 40 && is_random(text);
    is_path || is_absolute && !is_key || text.contains("://")
}
