//! A host that runs its own model: it records messages and turns, searches, recalls and calls tools between turns.

use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::message::Message;
use neap_core::base::tokens::Tokens;
use neap_core::recall::Filter;
use neap_engine::{Author, Clock as _, Engine, EngineError, RetrievalRequest, SessionOptions};
use serde_json::json;

use super::{Clients, Delivery, Place, labels_in};
use crate::check::Violations;
use crate::labels::label;
use crate::rival::random_tool_call;
use crate::rng::Rng;
use crate::run::Report;

/// The session that hosts record messages into.
pub(crate) const TOLD: &str = "told";

impl Clients {
    pub(super) async fn use_mcp(&mut self, report: &mut Report, out: &mut Violations) {
        let Some(engine) = self.draw_engine() else { return };
        report.told += 1;
        let done = match self.rng.below(10) {
            0..=3 => return self.record_messages(&engine, out).await,
            4..=6 => self.record_turn(&engine, out).await,
            7 => self.call_tool(&engine).await,
            8 => self.check_search(&engine, out).await,
            _ => self.check_recall(&engine, out).await,
        };
        if let Err(error) = done {
            self.explain(&error, out);
        }
    }

    /// Two processes record into one session; nothing makes their messages the same.
    async fn record_messages(&mut self, engine: &Engine, out: &mut Violations) {
        let Ok(session) = SessionId::from_name(TOLD) else { return };
        let [own, others] = [(); 2].map(|()| {
            let at: Stamp = self.clock.now();
            let messages =
                vec![(at, Message::user(self.local_text())), (at, Message::assistant(self.local_text()))];
            Delivery::Record(session.clone(), messages)
        });
        self.deliver(engine, own, Some(others), out).await;
    }

    /// A turn with an id of the host's, told twice.
    async fn record_turn(&mut self, engine: &Engine, out: &mut Violations) -> Result<(), EngineError> {
        let Ok(id) = SessionId::from_name("host") else { return Ok(()) };
        let (user, assistant) = (self.local_text(), self.local_text());
        let turn = format!("turn-{}", self.labels);
        let mut last = Ok(());
        for _ in 0..2 {
            let recorded = async {
                let mut session = engine.resume(&id, &SessionOptions::default()).await?;
                session.record(Author::Model, &user, &assistant, Some(&turn)).await
            };
            last = match recorded.await {
                Ok(_) => {
                    self.accepted.push((labels_in(&format!("{user}{assistant}")), Place::OneStream));
                    Ok(())
                }
                Err(error) => Err(error),
            };
            if let Err(error) = &last {
                self.explain(error, out);
            }
        }
        last
    }

    async fn call_tool(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let Ok(id) = SessionId::from_name("host") else { return Ok(()) };
        let mut rng = Rng::new(self.rng.draw());
        let mut session = match engine.attach(&id).await {
            Err(EngineError::NoSession(_)) => return Ok(()),
            session => session?,
        };
        let (name, effort) = random_tool_call(&mut rng, &session);
        session.call_tool(name, &json!({"id": effort, "name": effort}).to_string()).await?;
        Ok(())
    }

    /// What is stored is found by a word that only it has.
    async fn check_search(&mut self, engine: &Engine, out: &mut Violations) -> Result<(), EngineError> {
        let number = self.rng.between(1, self.labels.max(1));
        let Some(places) = self.stored.places(number) else { return Ok(()) };
        // A word of a very long message counts little, so its rank is not checked.
        let Some((session, _)) = places.first() else { return Ok(()) };
        let hits = engine.search(&format!("m{number}"), Filter::for_stream(session), usize::MAX).await?;
        let found = hits.iter().any(|hit| places.contains(&(hit.session.clone(), hit.turn)));
        out.check("search", found, || {
            format!("{} of {places:?} is not found among {} hits", label(number), hits.len())
        });
        Ok(())
    }

    async fn check_recall(&mut self, engine: &Engine, out: &mut Violations) -> Result<(), EngineError> {
        let (query, budget) = (self.local_user.next_message(), Tokens(self.rng.between(50, 1_000)));
        let recalled = engine.retrieve(&RetrievalRequest::new(&query, budget)).await?;
        let tokens = self.counter.count(&recalled.text);
        out.check("I8", tokens <= budget, || format!("{tokens} tokens are recalled, budget {budget}"));
        let Ok(id) = SessionId::from_name("host") else { return Ok(()) };
        match engine.brief(&id, Some(&query), budget).await {
            Ok(brief) => {
                let tokens = self.counter.count(&brief.text);
                out.check("I8", tokens <= budget, || format!("a brief of {tokens} tokens, budget {budget}"));
                Ok(())
            }
            Err(EngineError::NoSession(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
