//! Random histories, taken through the rules alone: efforts, expansions, tool loops, messages from nothing to ten
//! times the budget, every kind of settings, summarisers that fail, commits that come too late.

mod check;
mod dice;
mod world;

use neap_core::base::handle::Handle;
use neap_core::base::message::Scope;
use neap_core::base::testing::WordCounter;
use neap_core::context::{ThisTurn, assemble};
use neap_core::session::log::LogCache;
use neap_core::session::state::SessionState;
use world::World;

/// Histories in each of the tests below; together they are 5,000.
const HISTORIES: u64 = 1_250;

#[derive(Default)]
struct Seen {
    requests: u64,
    grown: u64,
    compactions: u64,
    merges: u64,
    cuts: u64,
    cut_replies: u64,
}

fn run(seeds: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        let mut world = World::new(seed);
        for _ in 0..3 + world.dice.below(7) {
            world.say();
            match world.dice.below(12) {
                0 => world.command(),
                1 | 2 => world.tend(),
                3 => world.restart(),
                4..=6 => world.peek(),
                _ => {}
            }
        }
        end(&world);
        let checks = &world.checks;
        seen.requests += checks.requests;
        seen.grown += checks.grown;
        seen.compactions += checks.compactions;
        seen.merges += checks.merges;
        seen.cuts += checks.cuts;
        seen.cut_replies += checks.cut_replies;
    }
    seen
}

/// What must hold at the end of a history.
fn end(world: &World) {
    assert_eq!(world.state.violations(), Vec::<String>::new());
    let replayed = SessionState::replay(&world.events);
    assert_eq!(replayed, world.state, "I3: the stream gives the live state");
    // I9: the same state gives the same bytes.
    let look = |state: &SessionState, logs: &LogCache| {
        assemble(state, logs, &world.tools, &WordCounter, ThisTurn::default()).expect("above the floor")
    };
    assert_eq!(look(&replayed, &world.logs), look(&world.state, &world.logs));
    // Whatever stands for something leads back to it, and nothing lies between what does.
    let efforts = world.state.efforts().map(|effort| Scope::Effort(effort.id.clone()));
    for scope in efforts.chain([Scope::Ambient]) {
        let window = world.state.window(&scope);
        let (exchanges, tokens) = world.said_upto(&scope, window.last_covered_turn());
        assert_eq!(
            (window.covered_size().exchanges, window.covered_size().tokens.0),
            (exchanges, tokens),
            "{scope:?}"
        );
        let covered: u64 = window.spans().iter().map(|span| span.size.exchanges).sum();
        assert_eq!(covered, exchanges, "{scope:?}: every exchange before the raw part is in a span");
        for span in window.spans() {
            let handle: Handle = span.handle(&scope).to_string().parse().expect("a handle");
            let found = world.fetch(&handle);
            assert_eq!(found.len() as u64, span.size.exchanges, "{handle} leads to all it stands for");
            let tokens: u64 = found.iter().map(|e| e.tokens().0).sum();
            assert_eq!(tokens, span.size.tokens.0, "{handle} has all its words");
        }
    }
}

/// The histories must be such as to test something.
fn check(seeds: std::ops::Range<u64>) {
    let seen = run(seeds);
    let Seen { requests, grown, compactions, merges, cuts, cut_replies } = seen;
    let told = format!(
        "{requests} requests, {grown} grown, {compactions} compactions, {merges} merges, {cuts} cut, {cut_replies} replies cut"
    );
    assert!(requests > HISTORIES * 5 && grown > requests / 10, "{told}");
    assert!(compactions > HISTORIES && merges > HISTORIES / 20 && cuts > HISTORIES / 2, "{told}");
    assert!(cut_replies > 0, "no reply was ever shown in part: {told}");
}

#[test]
fn histories_stay_within_their_budget_1() {
    check(0..HISTORIES);
}

#[test]
fn histories_stay_within_their_budget_2() {
    check(HISTORIES..2 * HISTORIES);
}

#[test]
fn histories_stay_within_their_budget_3() {
    check(2 * HISTORIES..3 * HISTORIES);
}

#[test]
fn histories_stay_within_their_budget_4() {
    check(3 * HISTORIES..4 * HISTORIES);
}
