//! Known counts, additivity, the estimate against exact counts, and the cost of Neap's own prompt text.

use neap_core::client::{CutPlan, JsonTokenCounter};
use neap_core::context::tools::ToolSet;
use neap_core::context::{ThisTurn, assemble};
use neap_core::session::log::LogCache;
use neap_core::session::state::SessionState;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(counter: &dyn TokenCounter, text: &str, want: u64) {
    assert_eq!(counter.count(text), Tokens(want), "{} of {text:?}", counter.encoding());
}

#[test]
fn counts_are_those_of_the_encodings() {
    for counter in [BpeCounter::o200k(), BpeCounter::cl100k()] {
        check(&counter, "", 0);
        check(&counter, "hello world", 2);
        check(&counter, "tiktoken is great!", 6);
        check(&counter, "1234567", 3);
        check(&counter, "\n\n", 1);
    }
    // The published example where the encodings differ.
    check(&BpeCounter::cl100k(), "お誕生日おめでとう", 9);
    check(&BpeCounter::o200k(), "お誕生日おめでとう", 8);
}

#[test]
fn models_are_known_by_family() {
    let encoding = |name: &str| counter_for(name).encoding().to_owned();
    for name in ["gpt-4o", "gpt-4o-mini", "openai/gpt-4.1", "gpt-5", "gpt-5.2-mini", "o1", "o3-mini", "o200k_base"]
    {
        assert_eq!(encoding(name), "o200k_base", "{name}");
    }
    for name in
        ["gpt-4", "gpt-4-turbo", "GPT-3.5-turbo", "text-embedding-3-small", "ft:gpt-3.5-turbo:x", "cl100k_base"]
    {
        assert_eq!(encoding(name), "cl100k_base", "{name}");
    }
    for name in ["claude-opus-4", "llama-3", "o10", "gpt-45", ""] {
        assert_eq!((encoding(name).as_str(), is_known_encoding(name)), ("o200k_base", false), "{name}");
    }
    assert_eq!(encoding("conservative"), "conservative", "sessions of older stores");
}

const ORDINARY: &[&str] = &[
    "The login failed with a 401 because the refresh token had expired; we now retry once, after 30 seconds.",
    "Honestly, it's not what I'd hoped for, but we'll see whether they've fixed it by Tuesday afternoon.",
    "fn main() -> Result<(), Error> {\n    let listener = TcpListener::bind(\"127.0.0.1:8080\")?;\n    Ok(())\n}\n",
    "SELECT user_id, COUNT(*) FROM events WHERE created_at > '2024-01-01' GROUP BY user_id;",
    "{\"status\":\"ok\",\"efforts\":[{\"id\":\"auth-bug\",\"raw_tokens\":1234}]}",
    "https://example.com/a/b?x=1&y=2 ECONNREFUSED E0382 /usr/lib/x86_64-linux-gnu/libssl.so.3",
    "Die Datenbankverbindung schlägt fehl, weil das Zertifikat am 3. Mai abgelaufen ist.",
    "我们决定使用连接池来解决数据库超时的问题，因为每个请求都会打开一个新的连接。",
    "データベースの接続がタイムアウトする問題を修正しました。",
    "데이터베이스 연결 시간 초과 문제를 해결했습니다.",
    "Мы решили использовать пул соединений, потому что каждый запрос открывал новое соединение.",
    "🎉 Done! 👍🏽",
];

#[test]
fn the_estimate_is_never_below_the_exact_count_of_ordinary_text() {
    for text in ORDINARY {
        let estimate = ConservativeCounter.count(text);
        for exact in [BpeCounter::o200k().count(text), BpeCounter::cl100k().count(text)] {
            assert!(estimate >= exact, "{estimate} < {exact}: {text}");
        }
    }
}

proptest! {
    /// A budget met by the estimate is also met where the provider counts exactly.
    #[test]
    fn the_estimate_is_never_below_o200k(text in "\\PC{0,200}|[\\u{0300}-\\u{036f}\\u{e000}-\\u{e100}\\u{12000}-\\u{12300}\n ]{0,80}") {
        prop_assert!(ConservativeCounter.count(&text) >= BpeCounter::o200k().count(&text));
    }
}

/// Neap's own prompt text is part of every request, so it is counted and capped.
#[test]
fn the_fixed_overhead_stays_small() {
    let counter = BpeCounter::o200k();
    let tools = ToolSet::with_efforts(&counter, Vec::new());
    let context = assemble(&SessionState::default(), &LogCache::default(), &tools, &counter, ThisTurn::default());
    let tokens = context.expect("an empty context fits").tokens();
    assert!(tokens <= Tokens(900), "rules, note and nine tools cost {tokens} tokens");
}

fn piece() -> impl Strategy<Value = String> {
    ("[a-zA-Zäß中#\\-\\[]", "[ -~\\täé中🎉\\n\\r]{0,80}").prop_map(|(first, rest)| format!("{first}{rest}\n"))
}

proptest! {
    #[test]
    fn counts_are_additive_at_lines(pieces in prop::collection::vec(piece(), 1..12)) {
        let counters: [&dyn TokenCounter; 3] = [&BpeCounter::o200k(), &BpeCounter::cl100k(), &ConservativeCounter];
        for counter in counters {
            let parts: Tokens = pieces.iter().map(|piece| counter.count(piece)).sum();
            prop_assert_eq!(counter.count(&pieces.concat()), parts, "{}", counter.encoding());
        }
    }

    /// A recalled page is counted line by line, as it is written; it costs no more than the sum.
    #[test]
    fn lines_of_a_page_add_up_on_the_wire(texts in prop::collection::vec(piece(), 1..12)) {
        let lines: Vec<String> = texts.iter().map(|text| format!("[user] {text}")).collect();
        let page = format!("§[Said before.]\n{}§[End]", lines.concat());
        let counters: [&dyn TokenCounter; 3] = [&BpeCounter::o200k(), &BpeCounter::cl100k(), &ConservativeCounter];
        for counter in counters {
            let wire = JsonTokenCounter(counter);
            let inside: Tokens = lines.iter().map(|line| wire.count(line)).sum();
            let all = inside + wire.count("§[Said before.]\n") + wire.count("§[End]");
            prop_assert_eq!(wire.count(&page), all, "{}", counter.encoding());
            let tokens = CutPlan::text_tokens(counter, &page);
            prop_assert!(CutPlan::page_budget(tokens) <= all, "{}", counter.encoding());
        }
    }
}
