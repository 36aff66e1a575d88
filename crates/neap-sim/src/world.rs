//! Everything that is simulated in one run, and the checks after each step.

use std::sync::Arc;

use neap_core::effort::Effort;
use neap_core::event::{Event, Recorded};
use neap_core::ids::{SessionId, Stamp};
use neap_core::message::ToolCall;
use neap_core::state::SessionState;
use neap_core::tokens::TokenCounter;
use neap_engine::{EngineError, FixedClock};
use neap_model::bpe::counter_for;
use neap_store::{Store, StoreError};

use crate::agent::Agents;
use crate::check::mind::MindWatch;
use crate::check::{Violation, Violations, marks, request, summary, view};
use crate::digest::Digest;
use crate::disk::Disk;
use crate::host::FETCH;
use crate::plant::Plant;
use crate::rng::Rng;
use crate::run::{Config, Report};
use crate::settings::Settings;
use crate::talk::Talk;
use crate::tape::{Fault, StepTape, Tape};
use crate::words::UNTRUSTED;

/// When simulated time begins: a day in 2026.
const EPOCH: Stamp = Stamp(1_780_000_000_000);

/// Events of each session that a failure shows, and how much of each.
const TRACED_EVENTS: usize = 12;
const TRACED_CHARS: usize = 300;

/// One run.
pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) tape: Tape,
    pub(crate) talks: Vec<Talk>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) report: Report,
    disk: Disk,
    counter: Arc<dyn TokenCounter>,
    digest: Digest,
    host_tools: bool,
    /// What the agents know, each agent once.
    pub(crate) minds: Vec<MindWatch>,
    /// Chance for what happens to memories, apart from all other.
    pub(crate) memories: Rng,
    pub(crate) clock: Arc<FixedClock>,
}

impl World {
    /// Two sessions in one store, opened for the first time.
    pub(crate) async fn begin(seed: u64, config: &Config) -> Result<Self, Vec<Violation>> {
        let mut rng = Rng::new(seed);
        let settings = Settings::draw(&mut rng);
        let tape = Tape::default();
        let clock = Arc::new(FixedClock::at(EPOCH));
        let disk = Disk::new(config.backend, config.plant).map_err(|error| broken(&error.to_string()))?;
        let store = disk.open().map_err(|error| broken(&error.to_string()))?;
        // What one agent knows shows as another's only where there are two.
        let apart = config.plant == Some(Plant::WrongAgent);
        let agents = if apart { Agents::Own } else { Agents::of(seed, &rng) };
        let (mut talks, mut minds) = (Vec::new(), Vec::<MindWatch>::new());
        for name in ["ada", "bob"] {
            let id = SessionId::from_name(name).map_err(|error| broken(&error.to_string()))?;
            let agent = agents.of_session(name, &rng);
            if let Some(agent) = &agent {
                let stream = agent.id.stream();
                if minds.iter().all(|mind| mind.id != stream) {
                    minds.push(MindWatch::new(stream, agent.canary.clone()));
                }
            }
            let (rng, settings) = (rng.fork(name), settings.clone());
            talks.push(Talk::new(id, rng, tape.clone(), clock.clone(), settings, config.plant, agent));
        }
        // A count that is too low shows only against another: the strictest there is.
        let counted_by = if config.plant == Some(Plant::Undercount) { "conservative" } else { settings.encoding };
        let counter = counter_for(counted_by);
        let (report, digest) = (Report::default(), Digest::default());
        let host_tools = settings.host_tools;
        let memories = rng.fork("memories");
        let mut world =
            Self { rng, tape, talks, store, report, disk, counter, digest, host_tools, minds, memories, clock };
        world.open_all().await?;
        Ok(world)
    }

    /// All processes die; everything is opened again, and must be as it was.
    pub(crate) async fn restart(&mut self) -> Result<(), Vec<Violation>> {
        self.report.restarts += 1;
        for talk in &mut self.talks {
            talk.crash();
        }
        self.store = self.disk.open().map_err(|error| broken(&error.to_string()))?;
        self.open_all().await?;
        self.thorough().await
    }

    async fn open_all(&mut self) -> Result<(), Vec<Violation>> {
        for talk in &mut self.talks {
            talk.open(&self.store).await.map_err(|error| broken(&format!("cannot open {}: {error}", talk.id)))?;
        }
        Ok(())
    }

    /// Looks at all that happened since the last look.
    pub(crate) async fn look(&mut self, deep: bool) -> Result<(), Vec<Violation>> {
        let mut out = Violations::default();
        let step = self.tape.take_step();
        self.report.faults += step.faults.len() as u64;
        self.report.requests += step.requests.len() as u64;
        for complaint in &step.complaints {
            out.add("rival", complaint.clone());
        }
        let canaries: Vec<String> = self.talks.iter().map(|talk| talk.canary.clone()).collect();
        let calm = step.faults.is_empty();
        let mut host_calls = 0;
        for at in 0..self.talks.len() {
            let budget = self.talks[at].replayed.policy().context_tokens_max;
            let new = match self.follow(at, &mut out).await {
                Ok(new) => new,
                Err(error) => return Err(broken(&error.to_string())),
            };
            if self.host_tools {
                host_calls += new.iter().map(host_calls_in).sum::<u64>();
            }
            let talk = &self.talks[at];
            let known_to = talk.agent.as_ref().map(|agent| agent.id.stream());
            let of_agents = self.minds.iter().filter(|mind| Some(&mind.id) != known_to.as_ref());
            let mut foreign: Vec<String> = of_agents.map(|mind| mind.canary.clone()).collect();
            foreign.extend(canaries.iter().filter(|word| **word != talk.canary).cloned());
            let counter = self.counter.as_ref();
            self.tape.with_acknowledged(&talk.id, |acknowledged| {
                let expected = request::Expected { counter, budget, acknowledged, foreign: &foreign };
                for seen in step.requests.iter().filter(|seen| seen.session == talk.id) {
                    request::check(seen, &expected, &mut out);
                    let outlook = talk.agent.as_ref().map(|agent| &agent.outlook);
                    let mut untrusted = UNTRUSTED.to_vec();
                    untrusted.push(&talk.canary);
                    marks::check(&seen.request, outlook, &untrusted, &mut out);
                }
            });
            let talk = &mut self.talks[at];
            if calm && !talk.replayed.policy().rewrites_every_turn() {
                let sent = step.requests.iter().filter(|seen| seen.session == talk.id);
                talk.prefix.follow(sent, &new, &mut out);
            } else {
                talk.prefix.forget();
            }
            let talk = &self.talks[at];
            let summary_max = talk.replayed.policy().summary_tokens_max;
            summary::check(&new, &step.summaries, self.counter.as_ref(), summary_max, &mut out);
            if deep {
                self.deep(at, &mut out).await.map_err(|error| broken(&error.to_string()))?;
            }
        }
        self.look_at_minds(deep, &mut out).await.map_err(|error| broken(&error.to_string()))?;
        // A host's tool may have had effects: it is called once, also if its round is decided again. A round may
        // be recorded twice, where a turn that was taken for dead went on.
        let lost = [Fault::CrashBefore, Fault::CrashAfter, Fault::Full, Fault::BusyRead, Fault::Dropped];
        if !step.faults.iter().any(|fault| lost.contains(fault)) {
            out.check("host tools", step.host_calls <= host_calls, || {
                format!("called {} times for {host_calls} calls", step.host_calls)
            });
        }
        self.remember(&step);
        finish(out)
    }

    async fn look_at_minds(&mut self, deep: bool, out: &mut Violations) -> Result<(), StoreError> {
        for mind in &mut self.minds {
            for recorded in mind.follow(self.store.as_ref(), &self.tape, out).await? {
                self.digest.add(&serde_json::to_string(&recorded).unwrap_or_default());
            }
            if deep {
                mind.deep(self.store.as_ref(), out).await?;
            }
        }
        Ok(())
    }

    async fn follow(&mut self, at: usize, out: &mut Violations) -> Result<Vec<Recorded>, StoreError> {
        let talk = &mut self.talks[at];
        let new = talk.watch.follow(self.store.as_ref(), &talk.id, &self.tape, out).await?;
        for recorded in &new {
            if recorded.seq == talk.replayed.seq().next() {
                talk.replayed.apply(recorded);
            }
            self.report.loads += u64::from(matches!(recorded.event, Event::MemoriesLoaded { .. }));
            self.report.censored += u64::from(matches!(recorded.event, Event::CensorTriggered { .. }));
            self.digest.add(&serde_json::to_string(recorded).unwrap_or_default());
        }
        if !new.is_empty() {
            talk.oracle.follow(&new, out);
            talk.oracle.compare(&talk.replayed, out);
            for violation in talk.replayed.violations() {
                out.add("state", violation);
            }
        }
        Ok(new)
    }

    /// Looks that cost more: rows against the stream, search, prompts.
    async fn deep(&mut self, at: usize, out: &mut Violations) -> Result<(), EngineError> {
        let text = self.rng.word(&["what next?", "and auth bug?", ""]).to_owned();
        let pick = self.rng.draw();
        let talk = &mut self.talks[at];
        let rows = self.store.load(&talk.id).await?.unwrap_or_default();
        out.check("I3", rows == talk.replayed, || {
            format!("{}: rows say {:?}, the stream says {:?}", talk.id, rows.head(), talk.replayed.head())
        });
        let concluded = findable_first(&talk.replayed);
        let id = talk.id.clone();
        let (replayed_seq, replayed) = (talk.replayed.seq(), talk.replayed.clone());
        let Some(place) = talk.place() else { return Ok(()) };
        if let Some(effort) = Rng::new(pick).pick(&concluded) {
            view::findable(&place.quiet, &id, effort, out).await?;
        }
        match view::same_prompt(&mut place.session, &place.quiet, &text, out).await {
            Ok(()) => {}
            // Injected: looking may close a turn that was dropped. The next look will see it whole.
            Err(EngineError::Store(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        let live = place.session.state();
        out.check("I3", live.seq() != replayed_seq || *live == replayed, || {
            format!("{id}: live {:?}, the stream says {:?}", live.head(), replayed.head())
        });
        Ok(())
    }

    /// Everything from the first event on: after a crash, and at the end.
    pub(crate) async fn thorough(&mut self) -> Result<(), Vec<Violation>> {
        self.look(true).await?;
        // Looking may have closed a turn that was dropped.
        self.look(false).await?;
        let mut out = Violations::default();
        for talk in &self.talks {
            let looked = async {
                let all = talk.watch.again(self.store.as_ref(), &talk.id, &self.tape, &mut out).await?;
                let replayed = SessionState::replay(&all);
                out.check("I3", replayed == talk.replayed, || {
                    format!("{}: a replay gives another state", talk.id)
                });
                view::logs(self.store.as_ref(), &talk.id, &all, &mut out).await?;
                view::sound(self.store.as_ref(), &talk.id, &mut out).await
            };
            looked.await.map_err(|error: StoreError| broken(&error.to_string()))?;
        }
        for mind in &self.minds {
            let looked = mind.thorough(self.store.as_ref(), &self.tape, &mut out).await;
            looked.map_err(|error| broken(&error.to_string()))?;
        }
        finish(out)
    }

    /// Adds the newest events of each session, so that a failure can be read.
    pub(crate) fn traced(&self, mut violations: Vec<Violation>) -> Vec<Violation> {
        violations.truncate(3);
        let streams = self.talks.iter().map(|talk| &talk.id).chain(self.minds.iter().map(|mind| &mind.id));
        for stream in streams {
            let what = self.tape.with_acknowledged(stream, |events| {
                let newest = &events[events.len().saturating_sub(TRACED_EVENTS)..];
                let lines = newest.iter().map(|recorded| {
                    let body = serde_json::to_string(&recorded.event).unwrap_or_default();
                    format!("\n    {} {}", recorded.seq, body.chars().take(TRACED_CHARS).collect::<String>())
                });
                format!("the newest events of {stream}:{}", lines.collect::<String>())
            });
            violations.push(Violation { invariant: "trace", what });
        }
        violations
    }

    fn remember(&mut self, step: &StepTape) {
        for seen in &step.requests {
            self.digest.add(&serde_json::to_string(&seen.request.messages).unwrap_or_default());
        }
    }

    /// The last look, and the figures.
    pub(crate) async fn end(mut self) -> Result<Report, Vec<Violation>> {
        self.thorough().await?;
        for talk in &self.talks {
            let metrics = talk.replayed.metrics();
            self.report.turns += talk.replayed.turn().0;
            self.report.events += talk.replayed.seq().0;
            self.report.efforts += talk.replayed.efforts().len() as u64;
            self.report.decayed += metrics.auto_collapses;
            self.report.evicted += metrics.evictions;
        }
        self.report.memories = self.minds.iter().map(MindWatch::records).sum();
        self.report.digest = self.digest.value();
        Ok(self.report)
    }
}

/// Concluded efforts; the evicted ones if there are any, since they are the harder to find.
fn findable_first(state: &SessionState) -> Vec<Effort> {
    let evicted: Vec<Effort> = state.evicted().cloned().collect();
    if evicted.is_empty() { state.shown().cloned().collect() } else { evicted }
}

fn host_calls_in(recorded: &Recorded) -> u64 {
    let is_fetch = |call: &&ToolCall| call.name == FETCH;
    if let Event::ToolsCalled { round, .. } = &recorded.event {
        return round.assistant.message.tool_calls.iter().filter(is_fetch).count() as u64;
    }
    0
}

fn finish(out: Violations) -> Result<(), Vec<Violation>> {
    let found = out.into_vec();
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Something failed that no fault explains.
pub(crate) fn broken(what: &str) -> Vec<Violation> {
    vec![Violation { invariant: "unexplained", what: what.to_owned() }]
}
