//! Writing down what was heard: each item once, in its session, durable before anything is sent on.

use neap_core::event::Event;
use neap_core::ids::{Stamp, TurnNo};
use neap_core::ingest::{
    Api, Block, Chain, Digest, Heard, Item, Line, Link, Passed, Reply, Sign, Tenant, Topics, messages, open, tell,
};
use neap_core::memory::Author;
use neap_core::message::{Counted, Incomplete, Role};
use neap_core::policy::Policy;
use neap_core::secrets::{Masking, mask_item};
use neap_model::bpe::counter_for;
use neap_model::compute::{in_place, off_worker};

use super::finding::Found;
use super::lines::{HeardLine, check_owner};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::overtaken;

/// Items that are written in one commit, at most.
const AT_ONCE: usize = 256;
/// Longest message of a session that a client holds, in bytes.
const MESSAGE_BYTES_MAX: u64 = 67_108_864;

/// Whose words a client's user messages are: nobody's whom we know. An agent program puts its own instructions, what
/// tools answered and what files say in that role, too, so a client vouches for no person.
const CLIENT: Author = Author::Model;

/// What became of a request, and in which turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    pub(super) turn: TurnNo,
    pub(super) passed: Passed,
}

/// An item, where it is said and not only known again, and what stands for it.
pub(super) type Step = (Option<Item>, Option<Digest>);

/// What is new in a request, what it goes on from, and where the history ends with it.
pub(super) struct New {
    from: Option<Digest>,
    steps: Vec<Step>,
    end: Line,
}

impl New {
    /// None where nothing is.
    pub(super) fn of(line: &HeardLine, heard: &Heard, chain: &Chain, found: &Found) -> Option<Self> {
        let known = line.live.state.head().line.as_ref();
        let asked = chain.asked();
        let is_asked = known.is_some_and(|known| known.asked == asked);
        if found.own >= heard.items.len() && is_asked {
            return None;
        }
        // Beside an answer that was heard there may be another.
        let answered = known.filter(|_| is_asked).map_or_else(Vec::new, |known| known.answered.clone());
        let end = Line { asked, answered };
        // What stands at the end may move: it is known again, and not recorded as said.
        let stem = heard.stem();
        let steps = heard.items.iter().enumerate().zip(chain.links().iter().copied()).skip(found.own);
        let start = chain.start();
        let said = found.told..stem;
        let step = |((at, item), digest): ((usize, &Item), Digest)| {
            (said.contains(&at).then(|| item.clone()), Some(digest).filter(|link| *link != start))
        };
        let from = (found.own > 0).then(|| chain.upto(found.own)).filter(|from| *from != start);
        Some(Self { from, steps: steps.map(step).collect(), end })
    }
}

impl Engine {
    /// Records what is new in a request; all of it, where what it goes on from was erased meanwhile.
    pub(super) async fn hear(
        &self,
        line: &mut HeardLine,
        new: Option<New>,
        (heard, chain): (&Heard, &Chain),
    ) -> Result<(), EngineError> {
        let Some(New { from, steps, end }) = new else { return Ok(()) };
        let written = self.write(line, from, steps, end, None).await;
        let Err(EngineError::NoSession(session)) = &written else { return written };
        let found = self.found(line, session, heard, chain, false).await?;
        match New::of(line, heard, chain, &found) {
            Some(New { from, steps, end }) => self.write(line, from, steps, end, None).await,
            None => Ok(()),
        }
    }

    /// Records an answer, unless it is there.
    pub(super) async fn hear_reply(
        &self,
        line: &mut HeardLine,
        (api, tenant): (Api, Tenant),
        chain: &Chain,
        reply: &Reply,
        account: Account,
    ) -> Result<(), EngineError> {
        let live = &mut line.live;
        if live.is_ahead_of_store() {
            live.reload(self.parts.store.as_ref()).await?;
        }
        let items = reply.items(api);
        let (mut ends, mut links) = match reply.says_nothing() && reply.is_half {
            // The client has nothing to bring along.
            true => (Vec::new(), Vec::new()),
            false => chain.answered(&items),
        };
        if let Some(id) = &reply.id {
            ends.push(tenant.response(id));
            links.push(tenant.response(id));
        }
        let known = self.parts.store.linked(&links).await?;
        let is_known = known.iter().any(|sessions| sessions.iter().any(|(session, _)| *session == live.id));
        let current = live.state.head().line.clone();
        // Another request may have come since: then its end is the end.
        let end = match current {
            Some(line) if line.asked != chain.asked() => line,
            Some(line) => line.answered_with(&ends),
            None => Line { asked: chain.asked(), answered: ends },
        };
        if is_known && live.state.head().line.as_ref() == Some(&end) {
            return Ok(());
        }
        // The same answer may be known by several ends; it was said once.
        let said = items.clone().into_iter().filter(|_| !is_known).map(Some).chain(std::iter::repeat(None));
        let steps = said.zip(links.into_iter().map(Some)).collect();
        let from = chain.links().last().copied().filter(|asked| *asked != chain.start());
        self.write(line, from, steps, end, Some(account)).await
    }

    /// Writes down what is known now, and what of it was said, going on from something that is known already; [`EngineError::NoSession`] if
    /// that is not there any more.
    pub(super) async fn write(
        &self,
        line: &mut HeardLine,
        from: Option<Digest>,
        steps: Vec<Step>,
        mut end: Line,
        account: Option<Account>,
    ) -> Result<(), EngineError> {
        let HeardLine { live, owner, topics, is_over, steers, .. } = line;
        let known = &live.state.head().encoding;
        let encoding = if known.is_empty() { self.parts.encoding.clone() } else { known.clone() };
        let is_half = account.is_some_and(|account| !account.passed.is_whole);
        let steps = taken(live.state.masking(), encoding, steps, is_half).await;
        let store = self.parts.store.as_ref();
        let mut conflicts = 0;
        let mut done = 0;
        loop {
            // Another process may have been first to go on with a stream that had no owner.
            check_owner(live, owner)?;
            let before = (topics.clone(), *is_over);
            let some = &steps[done..steps.len().min(done + AT_ONCE)];
            let mut decided = Vec::new();
            let now = self.parts.clock.now();
            if live.state.head().session.is_none() {
                let policy = Policy { message_bytes_max: MESSAGE_BYTES_MAX, ..Policy::default() };
                let (session, encoding) = (live.id.clone(), self.parts.encoding.clone());
                let created = Event::SessionCreated { session, encoding, policy, imported_from: None };
                decided.push(live.state.record(now, created));
            }
            let bytes = some.iter().flat_map(|taken| &taken.said).map(|said| said.message.content.len()).sum();
            let mut links = Vec::with_capacity(some.len());
            // Every event is looked at for secrets as it is recorded.
            in_place(bytes, || {
                for Taken { item, said, digest } in some {
                    for message in said {
                        for event in tell(&live.state, message.clone(), CLIENT) {
                            decided.push(live.state.record(now, event));
                        }
                    }
                    let sign = item.as_ref().map_or(Sign::GoesOn, |item| look_at(topics, item, now));
                    let sign = if *steers { Sign::GoesOn } else { sign };
                    *is_over = sign == Sign::Closes || (*is_over && !item.as_ref().is_some_and(Item::begins_turn));
                    if let Sign::Opens(name) = sign
                        && let Some(event) = open(&live.state, &name)
                    {
                        decided.push(live.state.record(now, event));
                    }
                    links.extend(digest.map(|digest| Link { digest, turn: live.state.turn() }));
                }
            });
            let turn = live.state.turn();
            let tenant = live.state.head().tenant.is_none().then_some(*owner);
            decided.push(live.state.record(now, Event::HistoryLinked { turn, links, line: end.clone(), tenant }));
            if let Some(Account { turn, passed }) = account.filter(|_| done + some.len() == steps.len()) {
                decided.push(live.state.record(now, Event::RequestPassed { turn, passed }));
            }
            match live.commit(store, decided).await {
                Ok(()) => {
                    done += some.len();
                    if done >= steps.len() {
                        self.parts.changed(&live.id);
                        return Ok(());
                    }
                }
                Err(error) => {
                    (*topics, *is_over) = before;
                    overtaken(live, store, error, &mut conflicts).await?;
                    // Whoever came first may have heard the same.
                    let rest = steps[done..].iter().filter_map(|taken| taken.digest);
                    let rest: Vec<Digest> = from.into_iter().chain(rest).collect();
                    let linked = store.linked(&rest).await?;
                    let is_here = |found: &Vec<(_, _)>| found.iter().any(|(id, _)| *id == live.id);
                    let (goes_on_from, linked) = linked.split_at(usize::from(from.is_some()));
                    if !goes_on_from.iter().all(is_here) {
                        // What is new alone would be half a history.
                        return Err(EngineError::NoSession(live.id.clone()));
                    }
                    let here = linked.iter().take_while(|found| is_here(found)).count();
                    let known = steps[done..].iter().scan(0, |links, taken| {
                        *links += usize::from(taken.digest.is_some());
                        Some(*links <= here && here > 0)
                    });
                    done += known.take_while(|known| *known).count();
                    match live.state.head().line.clone() {
                        // With what was answered to it.
                        Some(known) if known.asked == end.asked => {
                            let ours = std::mem::replace(&mut end, known.clone());
                            end = end.answered_with(&ours.answered);
                            if done >= steps.len() && end.answered == known.answered && account.is_none() {
                                return Ok(());
                            }
                        }
                        // Another request came since an answer was asked for: its end is the end.
                        Some(known) if account.is_some() => end = known,
                        Some(_) | None => {}
                    }
                }
            }
        }
    }
}

/// An item as it is written down.
struct Taken {
    item: Option<Item>,
    said: Vec<Counted>,
    digest: Option<Digest>,
}

/// What is written down: the items without their secrets, and counted so. Here, and nowhere before: what goes on to the
/// provider is as the client sent it. What is long is worked on off the async workers.
async fn taken(masking: Masking, encoding: String, steps: Vec<Step>, is_half: bool) -> Vec<Taken> {
    let bytes = steps.iter().filter_map(|(item, _)| item.as_ref()).map(Item::bytes).sum();
    let take = move |(item, digest): Step| {
        let item = item.map(|item| mask_item(masking, item).0);
        let counter = counter_for(&encoding);
        let said = item.as_ref().map(messages).unwrap_or_default().into_iter().map(|mut message| {
            if is_half && message.role == Role::Assistant && !message.content.is_empty() {
                message.incomplete = Some(Incomplete::BrokenOff { reason: String::new() });
            }
            Counted::new(counter.as_ref(), message)
        });
        Taken { said: said.collect(), item, digest }
    };
    off_worker(bytes, move || steps.into_iter().map(take).collect()).await
}

/// What an item is to the work in play.
fn look_at(topics: &mut Topics, item: &Item, now: Stamp) -> Sign {
    if !item.begins_turn() {
        topics.see(&item.text());
        return Sign::GoesOn;
    }
    // Programs put their own words before the person's.
    let said = item.blocks.iter().rev().map(Block::words).find(|words| !words.trim().is_empty());
    said.map_or(Sign::GoesOn, |said| topics.hear(&said, now))
}
