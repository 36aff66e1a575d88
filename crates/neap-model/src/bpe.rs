//! Exact token counts for known encodings. Other models are counted in `o200k_base`: how their counts relate to it is learnt
//! ([`neap_core::base::token_ratio`]).

use std::sync::Arc;

use neap_core::base::tokens::{TokenCounter, Tokens};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BpeCounter {
    encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    O200k,
    Cl100k,
}

impl BpeCounter {
    /// gpt-4o, gpt-4.1, gpt-5 and the o-series.
    pub fn o200k() -> Self {
        Self { encoding: Encoding::O200k }
    }

    /// gpt-4, gpt-3.5 and the text embedding models.
    pub fn cl100k() -> Self {
        Self { encoding: Encoding::Cl100k }
    }
}

impl TokenCounter for BpeCounter {
    fn encoding(&self) -> &str {
        match self.encoding {
            Encoding::O200k => "o200k_base",
            Encoding::Cl100k => "cl100k_base",
        }
    }

    fn count(&self, text: &str) -> Tokens {
        let count = match self.encoding {
            Encoding::O200k => neap_tokens::O200K.count(text),
            Encoding::Cl100k => neap_tokens::CL100K.count(text),
        };
        Tokens(count as u64)
    }
}

/// Estimates tokens for unknown encodings, on the high side. Only sessions that began with it are still counted so.
///
/// Words cost one token per four letters (three in long words, two in capitals); a digit, a punctuation mark and a
/// line break cost one each; other scripts cost by the bytes of a character. On ordinary prose, code and CJK text
/// this is never below o200k and cl100k, and about half above them. The o200k count is the floor, which covers
/// rare scripts and odd mixtures. Each line is rounded up separately, so counts are additive at line breaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConservativeCounter;

impl TokenCounter for ConservativeCounter {
    fn encoding(&self) -> &str {
        "conservative"
    }

    fn count(&self, text: &str) -> Tokens {
        let line = |line: &str| line_tokens(line).max(neap_tokens::O200K.count(line) as u64);
        Tokens(text.split_inclusive('\n').map(line).sum())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharRun {
    Start,
    Lower,
    Upper,
    Space,
    Other,
}

fn line_tokens(line: &str) -> u64 {
    let mut tokens = 0;
    let mut run = CharRun::Start;
    let mut len: u64 = 0;
    for c in line.chars() {
        let now = match c {
            'a'..='z' => CharRun::Lower,
            'A'..='Z' => CharRun::Upper,
            ' ' | '\t' => CharRun::Space,
            _ => CharRun::Other,
        };
        // A capital starts a word that lowercase letters continue.
        let continues = now == run || (run == CharRun::Upper && now == CharRun::Lower && len == 1);
        if !continues {
            tokens += run_tokens(run, len, now);
            len = 0;
        }
        if now == CharRun::Other {
            tokens += char_tokens(c);
        }
        run = now;
        len += 1;
    }
    tokens + run_tokens(run, len, CharRun::Start)
}

fn run_tokens(run: CharRun, len: u64, next: CharRun) -> u64 {
    match run {
        CharRun::Start | CharRun::Other => 0,
        // Short words are in every vocabulary; long ones are compounds.
        CharRun::Lower if len <= 8 => len.div_ceil(4),
        CharRun::Lower => len.div_ceil(3),
        CharRun::Upper => len.div_ceil(2),
        // A single space is part of the following word.
        CharRun::Space if len == 1 && matches!(next, CharRun::Lower | CharRun::Upper) => 0,
        CharRun::Space => 1 + len / 16,
    }
}

fn char_tokens(c: char) -> u64 {
    match c.len_utf8() {
        1 | 2 => 1,
        3 => 2,
        _ => 4,
    }
}

/// Encodings by model name prefix; the first match wins.
const FAMILIES: &[(&str, Encoding)] = &[
    ("o200k", Encoding::O200k),
    ("cl100k", Encoding::Cl100k),
    ("gpt-4o", Encoding::O200k),
    ("gpt-4.1", Encoding::O200k),
    ("gpt-4.5", Encoding::O200k),
    ("gpt-5", Encoding::O200k),
    ("gpt-oss", Encoding::O200k),
    ("chatgpt-4o", Encoding::O200k),
    ("o1", Encoding::O200k),
    ("o3", Encoding::O200k),
    ("o4", Encoding::O200k),
    ("gpt-4", Encoding::Cl100k),
    ("gpt-3.5", Encoding::Cl100k),
    ("gpt-35", Encoding::Cl100k),
    ("text-embedding", Encoding::Cl100k),
];

/// The counter for an encoding or model name; `o200k_base` if it is unknown.
pub fn counter_for(encoding_or_model_name: &str) -> Arc<dyn TokenCounter> {
    if encoding_or_model_name == ConservativeCounter.encoding() {
        return Arc::new(ConservativeCounter);
    }
    let encoding = known_encoding(encoding_or_model_name).unwrap_or(Encoding::O200k);
    Arc::new(BpeCounter { encoding })
}

pub fn is_known_encoding(encoding_or_model_name: &str) -> bool {
    known_encoding(encoding_or_model_name).is_some()
}

/// Ignores a path before the model (`openai/gpt-4o`) and the prefix of a fine-tuned one (`ft:`).
fn known_encoding(encoding_or_model_name: &str) -> Option<Encoding> {
    let lower = encoding_or_model_name.trim().to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let family = FAMILIES.iter().find(|(prefix, _)| {
        name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    });
    family.map(|(_, encoding)| *encoding)
}

#[cfg(test)]
#[path = "bpe_tests.rs"]
mod tests;
