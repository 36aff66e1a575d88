//! What a vector memory recalls, and a window with one behind it.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use crate::told::{Place, answer, cost, question, texts};
use neap_engine::agent_memory::{
    AgentMemory, LayeredMemory, Message, Role, SessionId, Stamp, Tokens, VectorMemory,
};

async fn tell(memory: &mut dyn AgentMemory, turns: usize) {
    for n in 1..=turns {
        memory.add(Role::User, &question(n), Stamp(n as i64)).await.unwrap();
        memory.add(Role::Assistant, &answer(n), Stamp(n as i64)).await.unwrap();
    }
}

/// 004, Abstraction: VectorMemory fetches the top-k relevant chunks.
#[tokio::test]
async fn what_bears_on_the_latest_question_is_recalled() {
    let place = Place::new();
    let mut memory = place.vector(1_000).await.top_k(4);
    assert_eq!(memory.fetch_for_prompt().await.unwrap(), []);
    tell(&mut memory, 60).await;
    memory.add(Role::User, "which port did svc-17 have again?", Stamp(1)).await.unwrap();
    let prompt = memory.fetch_for_prompt().await.unwrap();
    let [record] = &prompt[..] else { panic!("{prompt:?}") };
    let answer_17 = "\n[t17.1, assistant] Service svc-17 listens on port 8017.";
    assert!(record.content.contains(answer_17), "{}", record.content);
    assert!(!record.content.contains("which port did"), "the question itself is no answer");
    assert!(record.content.starts_with("§[Recalled from earlier"));
    assert!(record.content.ends_with("\n§[End of the record]"));
    assert_eq!(prompt, memory.fetch_for_prompt().await.unwrap(), "the same again");
    let original = memory.original(&"t17.1".parse().unwrap()).await.unwrap();
    assert_eq!(&*original[0].content, answer(17));
}

#[tokio::test]
async fn at_most_k_within_the_budget_oldest_first_none_twice() {
    let place = Place::new();
    let mut memory = place.vector(2_000).await;
    tell(&mut memory, 40).await;
    for _ in 0..3 {
        memory.add(Role::User, "the release port is 9999", Stamp(1)).await.unwrap();
    }
    for k in [0, 1, 3, 8] {
        let prompt = memory.fetch_relevant("release port of svc-7", k).await.unwrap();
        let turns: Vec<u64> = turns_of(&prompt);
        assert_eq!(turns.len(), k, "{}", texts(&prompt));
        assert!(turns.is_sorted(), "{turns:?}");
        assert!(texts(&prompt).matches("the release port is 9999").count() <= 1);
    }
    for budget in [64, 100, 150, 300, 1_000] {
        memory.reserve_tokens(Tokens(budget)).await.unwrap();
        let prompt = memory.fetch_relevant("release port of svc-7", 50).await.unwrap();
        assert!(cost(&prompt) <= budget, "{} of {budget}", cost(&prompt));
    }
    assert!(memory.reserve_tokens(Tokens(63)).await.is_err());
    assert_eq!(memory.fetch_relevant("", 5).await.unwrap(), []);
    assert_eq!(memory.fetch_relevant("zebra", 5).await.unwrap(), []);
}

/// The turns that a record quotes from, in its order.
fn turns_of(prompt: &[Message]) -> Vec<u64> {
    let all = texts(prompt);
    let heads = all.lines().filter_map(|line| line.strip_prefix("[t"));
    heads.map(|head| head.split(['.', ',']).next().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn of_a_long_text_the_part_that_answers_is_recalled() {
    let place = Place::new();
    let mut memory = place.vector(600).await;
    let filler =
        |n: usize| format!("Paragraph {n} is about weather, tea and other calm matters of no weight.\n\n");
    let text: String = (0..5_000)
        .map(|n| if n == 4_321 { "The vault code is HX-7731.\n\n".to_owned() } else { filler(n) })
        .collect();
    memory.add(Role::Tool, &text, Stamp(1)).await.unwrap();
    memory.add(Role::User, "what is the vault code?", Stamp(2)).await.unwrap();
    let prompt = memory.fetch_for_prompt().await.unwrap();
    assert!(texts(&prompt).contains("> The vault code is HX-7731."), "{}", texts(&prompt));
    assert!(cost(&prompt) <= 600);
    let original = memory.original(&"t1.0".parse().unwrap()).await.unwrap();
    assert_eq!(&*original[0].content, text);
}

/// 004, Integration: multiple memory layers are consulted before the final prompt is built.
#[tokio::test]
async fn a_window_with_a_vector_memory_behind_it_keeps_one_budget() {
    let place = Place::new();
    for budget in [200, 600, 1_500] {
        let place = Place::new();
        let mut layers = LayeredMemory::new(place.window(budget).await).with_vector(place.vector(budget).await);
        for n in 1..=120 {
            layers.add(Role::User, &question(n), Stamp(1)).await.unwrap();
            let prompt = layers.fetch_for_prompt().await.unwrap();
            assert!(cost(&prompt) <= budget, "{} of {budget}", cost(&prompt));
            assert_eq!(&*prompt.last().unwrap().content, question(n));
            layers.add(Role::Assistant, &answer(n), Stamp(2)).await.unwrap();
        }
    }
    let mut layers = LayeredMemory::new(place.window(1_500).await).with_vector(place.vector(1_500).await);
    tell(&mut layers, 120).await;
    layers.add(Role::User, "which port did svc-17 have?", Stamp(1)).await.unwrap();
    layers.reserve_tokens(Tokens(1_400)).await.unwrap();
    let prompt = layers.fetch_for_prompt().await.unwrap();
    assert!(cost(&prompt) <= 1_400);
    let record = &prompt[prompt.len() - 2].content;
    assert!(record.contains("] Service svc-17 listens on port 8017."), "before the question: {}", texts(&prompt));
    let raw = prompt.iter().filter(|message| message.content.starts_with("Question ")).count();
    assert!(raw > 2, "the window keeps what is not recalled: {}", texts(&prompt));
    assert!(layers.reserve_tokens(Tokens(10)).await.is_err());
}

#[tokio::test]
async fn what_the_window_shows_is_not_recalled_again() {
    let place = Place::new();
    let mut layers = LayeredMemory::new(place.window(1_500).await).with_vector(place.vector(1_500).await);
    tell(&mut layers, 3).await;
    layers.add(Role::User, "which port did svc-2 have?", Stamp(1)).await.unwrap();
    let prompt = layers.fetch_for_prompt().await.unwrap();
    assert_eq!(prompt.len(), 7, "all of it is raw: {}", texts(&prompt));
    tell(&mut layers, 80).await;
    for n in [1, 40, 70, 78, 80] {
        layers.add(Role::User, &format!("which port did svc-{n} have?"), Stamp(1)).await.unwrap();
        let prompt = layers.fetch_for_prompt().await.unwrap();
        let once = texts(&prompt).matches(&answer(n)).count();
        assert_eq!(once, 1, "svc-{n}: {}", texts(&prompt));
    }
}

#[tokio::test]
async fn another_sessions_past_can_stand_behind_a_window() {
    let place = Place::new();
    let past = SessionId::parse("past").unwrap();
    let mut archive = VectorMemory::open(&place.engine, &past, Tokens(500)).await.unwrap();
    tell(&mut archive, 30).await;
    let mut layers = LayeredMemory::new(place.window(800).await).with_vector(archive);
    layers.add(Role::User, "which port does svc-9 have?", Stamp(1)).await.unwrap();
    let prompt = layers.fetch_for_prompt().await.unwrap();
    assert!(texts(&prompt).contains("svc-9 listens on port 8009"), "{}", texts(&prompt));
    assert!(cost(&prompt) <= 800);
    assert_eq!(place.engine.attach(&past).await.unwrap().state().turn().0, 30, "it is only read");
}
