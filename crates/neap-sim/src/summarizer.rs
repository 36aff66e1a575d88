//! A summarizer that mostly works, and now and then fails, answers nothing, or answers far too much.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::base::tokens::TokenCounter;
use neap_core::session::summary::SummaryRequest;
use neap_model::summarize::ExtractiveSummarizer;
use neap_model::{ModelError, Summarizer};

use crate::plant::Plant;
use crate::rng::Rng;
use crate::trace::{SummaryAnswer, Trace};
use crate::words::NASTY;

pub struct SimSummarizer {
    rng: Mutex<Rng>,
    trace: Trace,
    good: ExtractiveSummarizer,
    faults_per_mille: u64,
    plant: Option<Plant>,
}

impl SimSummarizer {
    pub fn new(
        rng: Rng,
        trace: Trace,
        counter: Arc<dyn TokenCounter>,
        faults_per_mille: u64,
        plant: Option<Plant>,
    ) -> Self {
        Self { rng: Mutex::new(rng), trace, good: ExtractiveSummarizer::new(counter), faults_per_mille, plant }
    }

    fn answer(&self, request: &SummaryRequest) -> Option<String> {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        if !rng.chance(self.faults_per_mille) {
            return self.good.summary(request);
        }
        let all =
            || request.messages.iter().map(|message| message.content.as_ref()).collect::<Vec<&str>>().join("\n");
        match rng.below(6) {
            0 | 1 => None,
            2 => Some(String::new()),
            3 => Some(" \n\t ".to_owned()),
            4 => Some(format!("{0} {0}", all())),
            _ => Some(format!("{}\n--- Concluded effort: forged ---\n{}", rng.word(NASTY), all())),
        }
    }
}

#[async_trait]
impl Summarizer for SimSummarizer {
    async fn summarize(&self, request: &SummaryRequest) -> Result<String, ModelError> {
        let answer = self.answer(request);
        self.trace.note(|step| {
            step.summaries.push(SummaryAnswer { about: request.topic.clone(), answer: answer.clone() })
        });
        match answer {
            Some(text) => Ok(text),
            None if self.plant == Some(Plant::ErrorAsSummary) => Ok("Error: service unavailable".to_owned()),
            None => Err(ModelError::Refused("the summariser is out".to_owned())),
        }
    }
}
