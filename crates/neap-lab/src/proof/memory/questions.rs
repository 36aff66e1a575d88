//! The questions and their topics: one per line, as `topic|slot; …|question`.

use super::corpus::{About, Corpus, Topic};

const QUESTIONS: &str = include_str!("questions.txt");
const TALK: &str = include_str!("talk.txt");

pub(super) struct TopicQuestion {
    /// `None` if the corpus has nothing about it.
    pub(super) topic: Option<usize>,
    /// The parts of the topic that it asks about.
    slots: Vec<&'static str>,
    pub(super) text: &'static str,
}

/// Those without a topic come last.
pub(super) fn questions(topics: &[Topic]) -> Vec<TopicQuestion> {
    QUESTIONS.lines().filter_map(|line| parse_question(line, topics)).collect()
}

pub(super) fn conversation(topics: &[Topic]) -> Vec<TopicQuestion> {
    TALK.lines().filter_map(|line| parse_question(line, topics)).collect()
}

fn parse_question(line: &'static str, topics: &[Topic]) -> Option<TopicQuestion> {
    let mut parts = line.split('|');
    let title = parts.next()?;
    let slots = parts.next()?.split(';').map(str::trim).collect();
    let topic = topics.iter().position(|topic| topic.title == title);
    Some(TopicQuestion { topic, slots, text: parts.next()? })
}

impl TopicQuestion {
    /// Whether a memory is about exactly what is asked.
    pub(super) fn is_exact_match(&self, about: &About) -> bool {
        self.topic.is_some()
            && about.topic == self.topic
            && about.slots.iter().any(|slot| self.slots.contains(slot))
    }

    pub(super) fn is_of_topic(&self, about: &About) -> bool {
        self.topic.is_some() && about.topic == self.topic
    }

    /// Whether a memory is about the topic or another of its field.
    pub(super) fn is_same_field(&self, about: &About, corpus: &Corpus) -> bool {
        let field = |topic: Option<usize>| topic.and_then(|at| corpus.topics.get(at)).map(|topic| topic.field);
        self.topic.is_some() && field(about.topic) == field(self.topic)
    }

    /// A reply with all known facts about the question, loaded or not.
    pub(super) fn reply(&self, corpus: &Corpus) -> String {
        let statements =
            corpus.about.values().filter(|about| self.is_exact_match(about)).map(|about| about.said.as_str());
        let statements: Vec<&str> = statements.collect();
        if statements.is_empty() { "I do not know.".to_owned() } else { format!("{}.", statements.join(". ")) }
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
        let spoken = conversation(&topics);
        assert_eq!((spoken.len(), spoken.iter().filter(|asked| asked.topic.is_none()).count()), (40, 0));
        for asked in all.iter().chain(&spoken) {
            let Some(topic) = asked.topic.map(|at| &topics[at]) else { continue };
            for slot in &asked.slots {
                assert!(topic.things.contains(slot) || topic.options.contains(slot), "{}: {slot}", topic.title);
            }
        }
    }
}
