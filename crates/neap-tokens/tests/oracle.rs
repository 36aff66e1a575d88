//! The counts and the pieces are those of a tokenizer that somebody else wrote and compared with the original.

use bpe_openai::Tokenizer;
use neap_tokens::{CL100K, Encoding, O200K};
use proptest::prelude::*;

fn both() -> [(&'static Encoding, &'static Tokenizer); 2] {
    [(&O200K, bpe_openai::o200k_base()), (&CL100K, bpe_openai::cl100k_base())]
}

#[track_caller]
fn check(text: &str) {
    for (ours, theirs) in both() {
        assert!(ours.pieces(text).eq(theirs.split(text)), "{:?}", ours.pieces(text).collect::<Vec<_>>());
        assert_eq!(ours.count(text), theirs.count(text), "{text:?}");
    }
}

/// The tokens in `tokens/`, as they are packed there; `NEAP_WRITE_TOKENS=1` writes them anew.
#[test]
fn the_tokens_are_those_of_the_encodings() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tokens");
    for (name, (_, theirs)) in ["o200k", "cl100k"].into_iter().zip(both()) {
        let number = |number| theirs.bpe.token_bytes(number);
        let tokens = (0..theirs.bpe.num_tokens() as u32).map(number);
        let plain: Vec<u8> = tokens.flat_map(|token| [&[token.len() as u8], token].concat()).collect();
        if std::env::var_os("NEAP_WRITE_TOKENS").is_some() {
            let packed = miniz_oxide::deflate::compress_to_vec(&plain, 10);
            #[allow(clippy::disallowed_methods, reason = "a person asked for it and sees the difference")]
            std::fs::write(folder.join(name), packed).expect("the folder can be written to");
        }
        let packed = std::fs::read(folder.join(name)).expect("the file is there");
        let unpacked = miniz_oxide::inflate::decompress_to_vec(&packed).expect("the file is whole");
        assert!(unpacked == plain, "{name}");
    }
}

/// Each character there is, where its kind decides: alone, inside and beside words, numbers, signs and white space.
#[test]
fn every_character_is_of_the_same_kind() {
    let neighbours = ["", "a", "A", "あ", "\u{301}", "1", ".", " ", "\n", "'"];
    for c in (0..=0x10_ffff).filter_map(char::from_u32) {
        // All contexts for the ones in use, some for the rest.
        let step = if (c as u32) < 0x600 { 1 } else { 3 };
        let around = neighbours.iter().skip(c as usize % step).step_by(step);
        let text: String = around.map(|near| format!("{near}{c}{near}")).collect();
        check(&text);
    }
}

#[test]
fn long_pieces_count_the_same() {
    for text in ["a", "ab", "ACGT", "=", " ", "\n", "お", "é", "xX", "Donaudampfschiff", "'s", "/\n", "\u{301}"]
    {
        check(&text.repeat(20_000 / text.len()));
    }
}

/// Text in which the rules get in each other's way.
fn tricky() -> impl Strategy<Value = String> {
    let parts = [
        "'s", "'LL", "'ſ", "'re", "I", "a", "Ab", "aB", "\u{301}", "ñ", "あ", "Ǆ", "ʰ", "1", "٣", "Ⅷ", " ", "  ",
        "\t", "\u{a0}", "\n", "\r\n", "/", ".", "-", "🎉", "\0",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn tricky_text_counts_the_same(text in tricky()) {
        check(&text);
    }

    #[test]
    fn any_text_counts_the_same(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn letters_without_end_count_the_same(text in "[a-zA-Z]{0,9000}") {
        check(&text);
    }
}
