//! Asks questions about a recorded conversation and scores the recalled context.

use std::time::Instant;

use neap_core::base::tokens::Tokens;
use neap_core::recall::Filter;
use neap_core::text::fold_whitespace;
use neap_core::text::render::quote_lines;
use neap_engine::{RecalledContext, RetrievalRequest};

use super::EvalOptions;
use super::conversation_store::ConversationStore;
use super::data::{Conversation, Question};
use super::tally::{EvalTally, QuestionScore};
use super::time::parse_timestamp;
use crate::LabError;
use crate::measure::ms;

pub(crate) async fn ask_all(
    recorded: &mut ConversationStore,
    options: &EvalOptions,
    tally: &mut EvalTally,
) -> Result<(), LabError> {
    let conversation = recorded.conversation.clone();
    let mut questions: Vec<&Question> = conversation.questions.iter().collect();
    questions.sort_by_key(|question| question.before.unwrap_or(i64::MAX));
    for question in questions {
        recorded.record_before(question.before).await?;
        ask(recorded, options, &conversation, question, tally).await?;
    }
    recorded.record_before(None).await
}

async fn ask(
    recorded: &ConversationStore,
    options: &EvalOptions,
    conversation: &Conversation,
    question: &Question,
    tally: &mut EvalTally,
) -> Result<(), LabError> {
    let began = Instant::now();
    let embedding = recorded.embed_query(&question.q).await?;
    tally.embedding_ms.push(ms(began.elapsed()));
    let mut request = RetrievalRequest {
        query: question.q.clone(),
        embedding,
        filter: Filter::default().asked_in(recorded.project.as_ref()),
        now: parse_timestamp(&question.time).or(Some(recorded.now())),
        current: None,
        budget: Tokens::ZERO,
        weights: options.weights.clone(),
        need: None,
    };
    recorded.clock.set(request.now.unwrap_or_default());
    for budget in &options.budgets {
        request.budget = Tokens(*budget);
        let began = Instant::now();
        let context = options.surface.ask(&recorded.engine, &request, &recorded.prefix).await?;
        tally.assembly_ms.push(ms(began.elapsed()));
        tally.add(&question.cat, *budget, &score_answer(conversation, question, &context));
    }
    for (reason, weights) in &options.ablations {
        let embedding = request.embedding.clone().filter(|_| weights.semantic > 0.0);
        let mut request = RetrievalRequest { weights: weights.clone(), embedding, ..request.clone() };
        for budget in &options.budgets {
            request.budget = Tokens(*budget);
            let context = recorded.engine.retrieve(&request).await?;
            tally.add_without(*reason, *budget, &score_answer(conversation, question, &context));
        }
    }
    Ok(())
}

fn score_answer(conversation: &Conversation, question: &Question, found: &RecalledContext) -> QuestionScore {
    let context = fold_whitespace(&found.text);
    // A page quotes the further lines of a text.
    let contains = |text: &str| context.contains(&fold_whitespace(&quote_lines(text.trim())));
    let turns = conversation.turns.iter().filter(|turn| question.evidence.contains(&turn.id));
    let evidence: Vec<bool> = turns.map(|turn| contains(&turn.text)).collect();
    let has_answer = |text: &str| {
        let text = fold_whitespace(text).to_lowercase();
        question
            .answer
            .iter()
            .any(|answer| !answer.is_empty() && text.contains(&fold_whitespace(answer).to_lowercase()))
    };
    QuestionScore {
        first_has_answer: found.best.as_ref().is_some_and(|best| has_answer(best)),
        has_answer: has_answer(&found.text),
        evidence,
        tokens: found.tokens.0,
    }
}

#[cfg(test)]
mod tests {
    use neap_core::recall::RankWeights;

    use super::*;
    use crate::eval::{EvalSurface, Suite, measure};

    #[test]
    fn a_turn_of_several_lines_is_found() {
        let conversation = r#"{"turns": [{"id": "1", "who": "Ann", "text": "I bought a Koga bike.\n It is red.\n"}],
            "questions": [{"q": "Which Koga bike has Ann bought?", "evidence": [1]}]}"#;
        let conversation: Conversation = serde_json::from_str(conversation).expect("it is one");
        for surface in [EvalSurface::Recall, EvalSurface::GetContext, EvalSurface::Hook] {
            let options = EvalOptions {
                budgets: vec![500],
                suites: vec![Suite::Recall],
                weights: RankWeights::default(),
                ablations: Vec::new(),
                embedder: None,
                with_baselines: false,
                surface,
            };
            let conversations = vec![conversation.clone()];
            let tally = measure("", conversations, &options, 1, &|_, _, _| ()).expect("it can be measured");
            let sums: Vec<_> = tally.sums.values().map(|sum| (sum.with_evidence, sum.recall)).collect();
            assert_eq!(sums, [(1, 1.0)], "{surface:?}");
        }
    }
}
