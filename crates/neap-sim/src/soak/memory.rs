//! Memory use of a process, and which of its parts grow.

use neap_engine::CacheSize;

use super::EMBEDDINGS;

/// Memory as the system counts it, in bytes; 0 where it does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessMemory {
    pub resident: u64,
    /// The resident part that is not file pages.
    pub anonymous: u64,
}

impl ProcessMemory {
    pub fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1_024)
        };
        Self { resident: field("VmRSS:").unwrap_or(0), anonymous: field("RssAnon:").unwrap_or(0) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Turns taken before it.
    pub turn: u64,
    pub memory: ProcessMemory,
    pub parts: Vec<CacheSize>,
}

impl Sample {
    pub fn part(&self, name: &str) -> Option<&CacheSize> {
        self.parts.iter().find(|part| part.name == name)
    }
}

/// Parts with more entries in the second half than ever in the first, by more than a tenth and more than a few:
/// name and both maxima. A part that stays within its own limit does not count, nor do embeddings.
pub fn growing_parts(samples: &[Sample]) -> Vec<(&'static str, u64, u64)> {
    const FEW: u64 = 16;
    let (early, late) = samples.split_at(samples.len() / 2);
    let names = samples.iter().flat_map(|sample| &sample.parts).map(|part| part.name);
    let mut names: Vec<&'static str> = names.filter(|name| *name != EMBEDDINGS).collect();
    names.sort_unstable();
    names.dedup();
    let max_entries = |some: &[Sample], name: &str| {
        some.iter().filter_map(|sample| sample.part(name)).map(|part| part.entries).max().unwrap_or(0)
    };
    let both = names.into_iter().map(|name| (name, max_entries(early, name), max_entries(late, name)));
    let grows = both.filter(|(_, before, after)| *after > before + before / 10 + FEW);
    let limit = |name| samples.last().and_then(|sample| sample.part(name)?.entries_max);
    grows.filter(|(name, _, after)| limit(name).is_none_or(|limit| *after > limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_to_the_end_is_told_and_what_fills_up_is_not() {
        let part = |name, entries| CacheSize { name, entries, bytes: 0, entries_max: None };
        let sample = |turn: u64| Sample {
            turn,
            memory: ProcessMemory { resident: 0, anonymous: 0 },
            parts: vec![
                part("flat", 100),
                part("full", turn.min(300)),
                CacheSize { entries_max: Some(2_000), ..part("has room", turn) },
                CacheSize { entries_max: Some(900), ..part("has too many", turn) },
                part("grows", turn),
                part(EMBEDDINGS, turn),
            ],
        };
        let samples: Vec<Sample> = (1..=10).map(|n| sample(100 * n)).collect();
        assert_eq!(growing_parts(&samples), [("grows", 500, 1_000), ("has too many", 500, 1_000)]);
    }
}
