//! Logs: whole exchanges from either end, in the order in which they ended.

use neap_core::base::ids::TurnNo;
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::recall::{TextId, TextKey};
use neap_core::session::event::{Event, TurnEvent};
use neap_core::session::log::{Log, LogRequest, ReadFrom};

use super::faults;
use super::fixture::{TestStream, effort, effort_opened, session, tools_called, turn_completed, turn_started};
use crate::Store;

async fn log(store: &dyn Store, stream: &TestStream, scope: Scope, tokens: u64) -> Log {
    let request = LogRequest::newest(scope, Tokens(tokens));
    store.log(&stream.id, &request).await.expect("a log can be read")
}

fn turns(log: &Log) -> Vec<u64> {
    log.exchanges().map(|exchange| exchange.turn.0).collect()
}

/// As many exchanges as it takes to reach the token limit, and no more.
pub async fn a_log_is_its_newest_part(store: &dyn Store) {
    let mut stream = TestStream::create(store, "tail").await;
    for n in 1..=6 {
        let name = effort("side");
        if n == 3 {
            stream.append(store, vec![effort_opened("side", TurnNo(2))]).await.expect("an effort can be opened");
        }
        let scope = if n % 3 == 0 { Scope::Effort(name) } else { Scope::Ambient };
        stream.add_turn(store, "one two three", "four five", scope).await;
    }
    let all = log(store, &stream, Scope::Ambient, u64::MAX).await;
    assert_eq!(turns(&all), [1, 2, 4, 5]);
    let each = all.exchanges().next().expect("there is one").tokens().0;
    assert_eq!(turns(&log(store, &stream, Scope::Ambient, 1).await), [5]);
    assert_eq!(turns(&log(store, &stream, Scope::Ambient, each).await), [5]);
    assert_eq!(turns(&log(store, &stream, Scope::Ambient, each + 1).await), [4, 5]);
    assert_eq!(turns(&log(store, &stream, Scope::Ambient, 0).await), [0; 0]);
    assert_eq!(turns(&log(store, &stream, Scope::Effort(effort("side")), u64::MAX).await), [3, 6]);
    assert_eq!(turns(&log(store, &stream, Scope::Effort(effort("none")), u64::MAX).await), [0; 0]);
    let nobody = TestStream { id: session("nobody"), ..stream };
    assert_eq!(turns(&log(store, &nobody, Scope::Ambient, u64::MAX).await), [0; 0]);
}

/// Its texts are withheld and its span stays known; a rebuild gives the same.
pub async fn a_turn_taken_back_is_in_no_log(store: &dyn Store) {
    let mut stream = TestStream::create(store, "taken back").await;
    stream.append(store, vec![effort_opened("side", TurnNo(0))]).await.expect("an effort can be opened");
    let side = Scope::Effort(effort("side"));
    for n in 1..=6 {
        let scope = if n % 2 == 0 { side.clone() } else { Scope::Ambient };
        stream.add_turn(store, &format!("question {n}"), "four five", scope).await;
    }
    let tokens = log(store, &stream, Scope::Ambient, 1).await.size().tokens;
    let before = stream.state.log_size(&Scope::Ambient);
    for (turn, scope) in [(6, side.clone()), (5, Scope::Ambient)] {
        let event = Event::Turn(TurnEvent::TakenBack { turn: TurnNo(turn), scope, tokens });
        stream.append(store, vec![event]).await.expect("it is taken back");
    }
    let after = stream.state.log_size(&Scope::Ambient);
    assert_eq!((after.exchanges, after.tokens), (before.exchanges - 1, before.tokens - tokens));
    let span = store.turn_span(&stream.id, TurnNo(5)).await.expect("a look can be taken").expect("it is known");
    let id = |seq| TextId { stream: stream.id.clone(), key: TextKey::Message(seq) };
    for _ in 0..2 {
        assert_eq!(turns(&log(store, &stream, Scope::Ambient, u64::MAX).await), [1, 3]);
        assert_eq!(turns(&log(store, &stream, side.clone(), u64::MAX).await), [2, 4]);
        assert_eq!(store.turn_span(&stream.id, TurnNo(5)).await.expect("a look can be taken"), Some(span));
        assert_eq!(store.texts(&[id(span.0)]).await.expect("they can be read"), [None]);
        assert_eq!(store.scopes(&[id(span.0)]).await.expect("they can be read"), [None]);
        assert_eq!(store.load(&stream.id).await.expect("it can be loaded").as_ref(), Some(&stream.state));
        assert_eq!(faults(store).await, []);
        assert_eq!(store.rebuild(&stream.id).await.expect("it can be rebuilt"), []);
    }
    // The next turn takes its place in the log.
    stream.add_turn(store, "question 7", "four five", Scope::Ambient).await;
    assert_eq!(turns(&log(store, &stream, Scope::Ambient, u64::MAX).await), [1, 3, 7]);
}

/// A range of turns is read from the requested end and returned oldest first; turns outside it cost nothing.
pub async fn a_log_is_read_from_either_end(store: &dyn Store) {
    let mut stream = TestStream::create(store, "ends").await;
    stream.append(store, vec![effort_opened("side", TurnNo(0))]).await.expect("an effort can be opened");
    for n in 1..=9 {
        let scope = if n % 3 == 0 { Scope::Effort(effort("side")) } else { Scope::Ambient };
        stream.add_turn(store, "one two three", "four five", scope).await;
    }
    let whole = log(store, &stream, Scope::Ambient, u64::MAX).await;
    let each = whole.exchanges().next().expect("there is one").tokens().0;
    let (all, ends) = ((0, u64::MAX), [ReadFrom::Oldest, ReadFrom::Newest]);
    for (range, tokens, exchanges, oldest, newest) in [
        (all, u64::MAX, usize::MAX, vec![1, 2, 4, 5, 7, 8], vec![1, 2, 4, 5, 7, 8]),
        (all, u64::MAX, 2, vec![1, 2], vec![7, 8]),
        (all, each + 1, usize::MAX, vec![1, 2], vec![7, 8]),
        (all, each, usize::MAX, vec![1], vec![8]),
        (all, 0, usize::MAX, vec![], vec![]),
        (all, u64::MAX, 0, vec![], vec![]),
        ((2, 7), u64::MAX, 2, vec![2, 4], vec![5, 7]),
        ((2, 7), 2 * each + 1, usize::MAX, vec![2, 4, 5], vec![4, 5, 7]),
        ((3, 3), u64::MAX, usize::MAX, vec![], vec![]),
        ((4, 4), u64::MAX, usize::MAX, vec![4], vec![4]),
        ((7, 2), u64::MAX, usize::MAX, vec![], vec![]),
        ((9, u64::MAX), u64::MAX, usize::MAX, vec![], vec![]),
        ((10, 20), u64::MAX, usize::MAX, vec![], vec![]),
    ] {
        for (from, expected) in ends.into_iter().zip([oldest, newest]) {
            let request = LogRequest {
                scope: Scope::Ambient,
                turns: (TurnNo(range.0), TurnNo(range.1)),
                from,
                tokens_max: Tokens(tokens),
                exchanges_max: exchanges,
            };
            let read = store.log(&stream.id, &request).await.expect("a log can be read");
            assert_eq!(turns(&read), expected, "{request:?}");
        }
    }
    let after = LogRequest::oldest(Scope::Effort(effort("side")), TurnNo(3), Tokens(1));
    assert_eq!(turns(&store.log(&stream.id, &after).await.expect("a log can be read")), [6]);
}

/// Turns of many processes end in any order; the log keeps that order, whichever part of it is requested.
pub async fn turns_may_end_in_any_order(store: &dyn Store) {
    const TURNS: u64 = 24;
    let mut stream = TestStream::create(store, "any order").await;
    stream.append(store, vec![effort_opened("side", TurnNo(0))]).await.expect("an effort can be opened");
    let mut in_flight: Vec<TurnNo> = Vec::new();
    let mut chance = 7_u64;
    while stream.state.turn().0 < TURNS || !in_flight.is_empty() {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = (chance >> 33) as usize;
        if stream.state.turn().0 < TURNS && in_flight.len() < 6 && !draw.is_multiple_of(3) {
            let turn = stream.state.turn().next();
            stream
                .append(store, vec![turn_started(turn, &"word ".repeat(draw % 5 + 1), None)])
                .await
                .expect("it begins");
            in_flight.push(turn);
        } else if !in_flight.is_empty() {
            let turn = in_flight.remove(draw % in_flight.len());
            let scope = if turn.0.is_multiple_of(4) { Scope::Effort(effort("side")) } else { Scope::Ambient };
            stream.append(store, vec![turn_completed(turn, "an answer", scope)]).await.expect("it ends");
        }
    }
    let ended = ended(&stream);
    assert!(!ended.is_sorted_by_key(|(turn, ..)| *turn), "the scene is set");
    for (first, last) in (0..=TURNS + 1).flat_map(|a| (0..=TURNS + 1).map(move |b| (a, b))) {
        let turns_asked = (TurnNo(first), TurnNo(if last > TURNS { u64::MAX } else { last }));
        for (from, tokens_max, exchanges_max) in [
            (ReadFrom::Newest, u64::MAX, usize::MAX),
            (ReadFrom::Oldest, u64::MAX, usize::MAX),
            (ReadFrom::Newest, u64::MAX, 3),
            (ReadFrom::Oldest, u64::MAX, 3),
            (ReadFrom::Newest, 25, usize::MAX),
            (ReadFrom::Oldest, 25, usize::MAX),
        ] {
            for scope in [Scope::Ambient, Scope::Effort(effort("side"))] {
                let tokens_max = Tokens(tokens_max);
                let request = LogRequest { scope, turns: turns_asked, from, tokens_max, exchanges_max };
                let read = store.log(&stream.id, &request).await.expect("a log can be read");
                assert_eq!(turns(&read), expected_turns(&ended, &request), "{request:?}");
            }
        }
    }
}

fn ended(stream: &TestStream) -> Vec<(TurnNo, Scope, Tokens)> {
    let mut ended = Vec::new();
    for recorded in &stream.events {
        if let Event::Turn(TurnEvent::Completed { turn, scope, .. }) = &recorded.event {
            let messages = stream
                .events
                .iter()
                .filter(|e| e.event.turn() == Some(*turn))
                .flat_map(|e| e.event.transcript_messages());
            let tokens = Tokens(messages.map(|message| message.tokens.0).sum());
            ended.push((*turn, scope.clone(), tokens));
        }
    }
    ended
}

/// The turns a request should return, computed by scanning everything.
fn expected_turns(ended: &[(TurnNo, Scope, Tokens)], request: &LogRequest) -> Vec<u64> {
    let (first, last) = request.turns;
    let mut all: Vec<_> = ended.iter().filter(|e| e.1 == request.scope && first <= e.0 && e.0 <= last).collect();
    match request.from {
        ReadFrom::Newest => all.reverse(),
        ReadFrom::Oldest => all.sort_by_key(|(turn, ..)| *turn),
    }
    let mut tokens = Tokens::ZERO;
    let mut selected = Vec::new();
    for (turn, _, cost) in all {
        if tokens < request.tokens_max && selected.len() < request.exchanges_max {
            selected.push(turn.0);
            tokens += *cost;
        }
    }
    if request.from == ReadFrom::Newest {
        selected.reverse();
    }
    selected
}

/// I7: a tool call and its result stay together, between the user message and the reply.
pub async fn tool_rounds_are_whole(store: &dyn Store) {
    let mut stream = TestStream::create(store, "rounds").await;
    let turn = TurnNo(1);
    stream.append(store, vec![turn_started(turn, "look", None)]).await.expect("a turn can begin");
    stream.append(store, vec![tools_called(turn, "found")]).await.expect("a tool can be called");
    stream.append(store, vec![turn_completed(turn, "done", Scope::Ambient)]).await.expect("a turn can end");
    let log = log(store, &stream, Scope::Ambient, 1).await;
    let words: Vec<_> = log.exchanges().flat_map(|e| &e.messages).map(|m| m.message.role.as_str()).collect();
    assert_eq!(words, ["user", "assistant", "tool", "assistant"]);
}

pub async fn turns_may_overlap(store: &dyn Store) {
    let mut stream = TestStream::create(store, "overlap").await;
    let (one, two) = (TurnNo(1), TurnNo(2));
    stream.append(store, vec![turn_started(one, "first question", None)]).await.expect("a turn can begin");
    stream.append(store, vec![turn_started(two, "second question", None)]).await.expect("another can");
    assert_eq!(turns(&log(store, &stream, Scope::Ambient, u64::MAX).await), [0; 0]);
    stream
        .append(store, vec![turn_completed(two, "second answer", Scope::Ambient)])
        .await
        .expect("a turn can end");
    stream.append(store, vec![turn_completed(one, "first answer", Scope::Ambient)]).await.expect("the other can");
    let log = log(store, &stream, Scope::Ambient, u64::MAX).await;
    let words: Vec<_> = log.exchanges().flat_map(|e| &e.messages).map(|m| &*m.message.content).collect();
    assert_eq!(words, ["second question", "second answer", "first question", "first answer"]);
}
