//! What the made-up life is about: 120 topics of a software team's and a person's days.

const TOPICS: &str = include_str!("topics.txt");

/// One topic. Its words are the slots that records and questions are made from.
#[derive(Debug, Clone)]
pub(crate) struct Topic {
    /// Topics of one field are neighbours.
    pub(crate) field: &'static str,
    /// Unique.
    pub(crate) title: &'static str,
    /// What it is called in passing.
    pub(crate) names: Vec<&'static str>,
    /// What one talks about.
    pub(crate) things: Vec<&'static str>,
    /// What one chooses between.
    pub(crate) options: Vec<&'static str>,
    /// What goes wrong, as a clause.
    pub(crate) troubles: Vec<&'static str>,
    /// What is done, as an order.
    pub(crate) doings: Vec<&'static str>,
    /// How often it comes up, against others.
    pub(crate) weight: u64,
}

/// How often topics come up: few of them often.
const WEIGHTS: [u64; 6] = [1, 2, 1, 5, 2, 3];

/// All topics, one a line of the table; a line that is no topic is left out.
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
