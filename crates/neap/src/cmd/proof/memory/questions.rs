//! What is asked, and what it is about: one a line of a table, as `topic|what of it; …|question`.

use super::corpus::{About, Corpus, Topic};

const QUESTIONS: &str = include_str!("questions.txt");
const TALK: &str = include_str!("talk.txt");

/// A question.
pub(super) struct Asked {
    /// What it is about; none if nothing in the corpus is.
    pub(super) topic: Option<usize>,
    /// What of it.
    slots: Vec<&'static str>,
    /// In words.
    pub(super) text: &'static str,
}

/// The questions, those about nothing in the corpus last.
pub(super) fn questions(topics: &[Topic]) -> Vec<Asked> {
    QUESTIONS.lines().filter_map(|line| asked(line, topics)).collect()
}

/// What a user says in forty turns.
pub(super) fn talk(topics: &[Topic]) -> Vec<Asked> {
    TALK.lines().filter_map(|line| asked(line, topics)).collect()
}

fn asked(line: &'static str, topics: &[Topic]) -> Option<Asked> {
    let mut parts = line.split('|');
    let title = parts.next()?;
    let slots = parts.next()?.split(';').map(str::trim).collect();
    let topic = topics.iter().position(|topic| topic.title == title);
    Some(Asked { topic, slots, text: parts.next()? })
}

impl Asked {
    /// Whether a record is about just what is asked.
    pub(super) fn is_met_by(&self, about: &About) -> bool {
        self.topic.is_some()
            && about.topic == self.topic
            && about.slots.iter().any(|slot| self.slots.contains(slot))
    }

    /// Whether a record is about the topic.
    pub(super) fn is_of_topic(&self, about: &About) -> bool {
        self.topic.is_some() && about.topic == self.topic
    }

    /// Whether it is about the topic or one of the same field.
    pub(super) fn is_near(&self, about: &About, corpus: &Corpus) -> bool {
        let field = |topic: Option<usize>| topic.and_then(|at| corpus.topics.get(at)).map(|topic| topic.field);
        self.topic.is_some() && field(about.topic) == field(self.topic)
    }

    /// A reply that says all there is about what is asked, whether it is loaded or not.
    pub(super) fn reply(&self, corpus: &Corpus) -> String {
        let told = corpus.about.values().filter(|about| self.is_met_by(about)).map(|about| about.said.as_str());
        let told: Vec<&str> = told.collect();
        if told.is_empty() { "I do not know.".to_owned() } else { format!("{}.", told.join(". ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::corpus::topics;
    use super::*;

    #[test]
    fn every_topic_has_a_title_of_its_own_and_enough_to_say() {
        let all = topics();
        let titles: std::collections::BTreeSet<&str> = all.iter().map(|topic| topic.title).collect();
        assert_eq!((all.len(), titles.len()), (120, 120));
        for topic in &all {
            assert!(topic.things.len() >= 4 && topic.options.len() >= 2, "{}", topic.title);
            assert!(topic.troubles.len() == 2 && topic.doings.len() == 3, "{}", topic.title);
        }
    }

    #[test]
    fn every_question_is_about_what_there_is_or_about_nothing() {
        let topics = topics();
        let all = questions(&topics);
        assert_eq!((all.len(), all.iter().filter(|asked| asked.topic.is_none()).count()), (60, 10));
        let spoken = talk(&topics);
        assert_eq!((spoken.len(), spoken.iter().filter(|asked| asked.topic.is_none()).count()), (40, 0));
        for asked in all.iter().chain(&spoken) {
            let Some(topic) = asked.topic.map(|at| &topics[at]) else { continue };
            for slot in &asked.slots {
                assert!(topic.things.contains(slot) || topic.options.contains(slot), "{}: {slot}", topic.title);
            }
        }
    }
}
