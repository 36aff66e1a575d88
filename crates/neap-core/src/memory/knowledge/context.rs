//! Builds the context for a question outside any conversation, with every candidate scored.

use super::{AgentProfile, Focus, Knowledge, KnowledgeInputs, Placement, build, recall_request};
use crate::base::ids::Stamp;
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::frame::{FrameChoice, select};
use crate::memory::{AgentHead, RecallRequest, RecallResponse};
use crate::recall::ProjectFilter;

/// A question, ready to be searched.
#[derive(Debug)]
pub struct ContextQuery<'a> {
    profile: &'a AgentProfile,
    question: &'a str,
    frame_choice: FrameChoice<'a>,
    project: Option<ProjectFilter>,
    request: RecallRequest,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QuestionContext {
    /// Why this frame was chosen, for people.
    pub frame_reason: String,
    pub knowledge: Knowledge,
}

impl<'a> ContextQuery<'a> {
    /// An error if the named frame does not exist.
    pub fn new(
        profile: &'a AgentProfile,
        question: &'a str,
        frame: Option<&str>,
        project: Option<ProjectFilter>,
        now: Stamp,
    ) -> Result<Self, String> {
        let frame_choice = match frame {
            Some(name) => {
                let names =
                    || profile.frames.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>().join(", ");
                let frame = profile.frames.get(name);
                FrameChoice::by_name(
                    frame.ok_or_else(|| format!("there is no frame '{name}'; there are: {}", names()))?,
                )
            }
            None => select(&profile.frames, question),
        };
        let request = recall_request(question, frame_choice.frame, now).asked_in(project.as_ref());
        Ok(Self { profile, question, frame_choice, project, request })
    }

    pub fn request(&self) -> &RecallRequest {
        &self.request
    }

    pub fn build_context(
        &self,
        agent: &AgentHead,
        recalled: &RecallResponse,
        room: Tokens,
        counter: &dyn TokenCounter,
        now: Stamp,
    ) -> QuestionContext {
        // The output includes the markers around records, which a prompt pays for elsewhere.
        let marker_tokens = match self.profile.placement {
            Placement::System => counter.count(prompt::RECORDS) + counter.count(prompt::RECORDS_END),
            Placement::Tail => Tokens::ZERO,
        };
        let room = room.saturating_sub(marker_tokens);
        let knowledge = build(&KnowledgeInputs {
            question: self.question,
            frame_choice: &self.frame_choice,
            identity: &self.profile.identity,
            agent,
            focus: &Focus::default(),
            project: self.project.as_ref(),
            recalled,
            terms: &self.request.terms,
            room,
            counter,
            lines_are_counted: true,
            placement: self.profile.placement,
            now,
        });
        QuestionContext { frame_reason: self.frame_choice.explain(), knowledge }
    }
}
