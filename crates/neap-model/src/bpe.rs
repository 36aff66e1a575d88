//! Exact token counts for the encodings in use, and a careful estimate for all others.

use std::sync::Arc;

use neap_core::tokens::{TokenCounter, Tokens};

/// Counts exactly as one byte-pair encoding does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bpe {
    encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    O200k,
    Cl100k,
}

impl Bpe {
    /// The encoding of the gpt-4o, gpt-4.1, gpt-5 and o-series families.
    pub fn o200k() -> Self {
        Self { encoding: Encoding::O200k }
    }

    /// The encoding of gpt-4, gpt-3.5 and the text embedding models.
    pub fn cl100k() -> Self {
        Self { encoding: Encoding::Cl100k }
    }
}

impl TokenCounter for Bpe {
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

/// An estimate for models whose encoding is not known: high rather than low.
///
/// Letters cost one token for every four of a word (three in a long one, two in capitals), a digit, a mark and a line break one
/// each, other scripts by the bytes that a character takes. On ordinary prose, code and CJK text that is never
/// below what o200k and cl100k count, and about half above it; rare scripts and odd mixtures, where it would be, cost what
/// o200k counts. Each line is counted on its own and rounded up, so that it is additive at every line break.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conservative;

impl TokenCounter for Conservative {
    fn encoding(&self) -> &str {
        "conservative"
    }

    fn count(&self, text: &str) -> Tokens {
        let line = |line: &str| line_tokens(line).max(neap_tokens::O200K.count(line) as u64);
        Tokens(text.split_inclusive('\n').map(line).sum())
    }
}

/// What continues from one character to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Start,
    Lower,
    Upper,
    Space,
    Other,
}

fn line_tokens(line: &str) -> u64 {
    let mut tokens = 0;
    let mut run = Run::Start;
    let mut len: u64 = 0;
    for c in line.chars() {
        let now = match c {
            'a'..='z' => Run::Lower,
            'A'..='Z' => Run::Upper,
            ' ' | '\t' => Run::Space,
            _ => Run::Other,
        };
        // A capital begins a word that its small letters continue.
        let goes_on = now == run || (run == Run::Upper && now == Run::Lower && len == 1);
        if !goes_on {
            tokens += run_tokens(run, len, now);
            len = 0;
        }
        if now == Run::Other {
            tokens += char_tokens(c);
        }
        run = now;
        len += 1;
    }
    tokens + run_tokens(run, len, Run::Start)
}

/// The cost of a run that ends before `next`.
fn run_tokens(run: Run, len: u64, next: Run) -> u64 {
    match run {
        Run::Start | Run::Other => 0,
        // Short words are in every vocabulary, long ones are compounds.
        Run::Lower if len <= 8 => len.div_ceil(4),
        Run::Lower => len.div_ceil(3),
        Run::Upper => len.div_ceil(2),
        // One space is part of the word after it.
        Run::Space if len == 1 && matches!(next, Run::Lower | Run::Upper) => 0,
        Run::Space => 1 + len / 16,
    }
}

fn char_tokens(c: char) -> u64 {
    match c.len_utf8() {
        1 | 2 => 1,
        3 => 2,
        _ => 4,
    }
}

/// Families by the beginning of a model's name; the first that fits decides.
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

/// The counter of an encoding or of a model, by name; the estimate where neither is known.
///
/// A path before the model (`openai/gpt-4o`) and the mark of a fine-tuned one (`ft:`) are overlooked.
pub fn counter_for(encoding_or_model_name: &str) -> Arc<dyn TokenCounter> {
    let lower = encoding_or_model_name.trim().to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let family = FAMILIES.iter().find(|(prefix, _)| {
        name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    });
    match family {
        Some((_, encoding)) => Arc::new(Bpe { encoding: *encoding }),
        None => Arc::new(Conservative),
    }
}

#[cfg(test)]
#[path = "bpe_tests.rs"]
mod tests;
