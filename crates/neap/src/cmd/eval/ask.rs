//! Questions put to a conversation that was told, and what the assembled context holds of their answers.

use std::time::{Duration, Instant};

use neap_core::recall::Filter;
use neap_core::tokens::Tokens;
use neap_engine::{Asking, Recollection};

use super::Options;
use super::data::{Conversation, Question};
use super::feed::Told;
use super::tally::{Answered, Tally};
use super::time::moment;
use crate::out::Failure;

/// Asks every question that is about this conversation.
pub(crate) async fn ask_all(told: &mut Told, options: &Options, tally: &mut Tally) -> Result<(), Failure> {
    let conversation = told.conversation.clone();
    let mut questions: Vec<&Question> = conversation.questions.iter().collect();
    questions.sort_by_key(|question| question.before.unwrap_or(i64::MAX));
    for question in questions {
        told.tell(question.before).await?;
        ask(told, options, &conversation, question, tally).await?;
    }
    told.tell(None).await
}

async fn ask(
    told: &Told,
    options: &Options,
    conversation: &Conversation,
    question: &Question,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let began = Instant::now();
    let embedding = told.meaning(&question.q).await?;
    tally.embedded(began.elapsed());
    let mut asking = Asking {
        question: question.q.clone(),
        embedding,
        filter: Filter::default(),
        now: moment(&question.time).or(Some(told.now())),
        here: None,
        budget: Tokens::ZERO,
        weights: options.weights.clone(),
    };
    for budget in &options.budgets {
        asking.budget = Tokens(*budget);
        let began = Instant::now();
        let recollection = told.engine.recollect(&asking).await?;
        let took = began.elapsed();
        tally.add(&question.cat, *budget, judge(conversation, question, &recollection, took));
    }
    for (reason, weights) in &options.ablations {
        let embedding = asking.embedding.clone().filter(|_| weights.meaning > 0.0);
        let mut asking = Asking { weights: weights.clone(), embedding, ..asking.clone() };
        for budget in &options.budgets {
            asking.budget = Tokens(*budget);
            let recollection = told.engine.recollect(&asking).await?;
            let answered = judge(conversation, question, &recollection, Duration::ZERO);
            tally.add_without(*reason, *budget, &answered);
        }
    }
    Ok(())
}

/// What of the answer is there.
fn judge(conversation: &Conversation, question: &Question, found: &Recollection, took: Duration) -> Answered {
    let context = flat(&found.text);
    let is_there = |text: &str| context.contains(&flat(text));
    let turns = conversation.turns.iter().filter(|turn| question.evidence.contains(&turn.id));
    let evidence: Vec<bool> = turns.map(|turn| is_there(&turn.text)).collect();
    let has_answer = |text: &str| {
        let text = flat(text).to_lowercase();
        question.answer.iter().any(|answer| !answer.is_empty() && text.contains(&flat(answer).to_lowercase()))
    };
    Answered {
        first_has_answer: found.best.as_ref().is_some_and(|best| has_answer(best)),
        has_answer: has_answer(&found.text),
        evidence,
        tokens: found.tokens.0,
        took,
    }
}

/// Words with single spaces between them: how a text is broken into lines does not matter.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
