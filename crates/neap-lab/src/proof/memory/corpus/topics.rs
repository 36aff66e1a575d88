//! The 120 topics of the corpus.

const TOPICS: &str = include_str!("topics.txt");

/// Its words are the slots that memories and questions are made from.
#[derive(Debug, Clone)]
pub(crate) struct Topic {
    /// Topics of one field are related.
    pub(crate) field: &'static str,
    pub(crate) title: &'static str,
    /// Names used for it in passing.
    pub(crate) names: Vec<&'static str>,
    pub(crate) things: Vec<&'static str>,
    /// Alternatives to choose between.
    pub(crate) options: Vec<&'static str>,
    /// What goes wrong, as a clause.
    pub(crate) troubles: Vec<&'static str>,
    /// Activities, in the imperative.
    pub(crate) doings: Vec<&'static str>,
    pub(crate) weight: u64,
}

const WEIGHTS: [u64; 6] = [1, 2, 1, 5, 2, 3];

/// One topic per line; other lines are skipped.
pub(crate) fn topics() -> Vec<Topic> {
    TOPICS.lines().enumerate().filter_map(|(at, line)| topic(line, WEIGHTS[at % WEIGHTS.len()])).collect()
}

fn topic(line: &'static str, weight: u64) -> Option<Topic> {
    let mut parts = line.split('|');
    let (field, title) = (parts.next()?, parts.next()?);
    let mut list = || -> Option<Vec<&'static str>> { Some(parts.next()?.split(',').map(str::trim).collect()) };
    Some(Topic {
        field,
        title,
        names: list()?,
        things: list()?,
        options: list()?,
        troubles: list()?,
        doings: list()?,
        weight,
    })
}
