//! Lays out the tables of the encodings, and the classes of characters by which they split text, so that a program can read them where they lie.

use std::path::{Path, PathBuf};

use regex_syntax::hir::{Class, HirKind};

#[path = "src/hash.rs"]
mod hash;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/hash.rs");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names the folder"));
    write(&folder, "o200k.table", &table(include_bytes!("tokens/o200k")));
    write(&folder, "cl100k.table", &table(include_bytes!("tokens/cl100k")));
    write(&folder, "classes", &classes());
}

#[allow(clippy::disallowed_methods, reason = "a build that ends half-way is run again")]
fn write(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).expect("the folder can be written to");
}

/// The tokens of an encoding by number. Packed: deflated, each token after its length in one byte.
fn unpack(packed: &[u8]) -> Vec<Vec<u8>> {
    let plain = miniz_oxide::inflate::decompress_to_vec(packed).expect("the file is whole");
    let (mut rest, mut tokens) = (plain.as_slice(), Vec::new());
    while let [length, after @ ..] = rest {
        let (token, after) = after.split_at(usize::from(*length));
        tokens.push(token.to_vec());
        rest = after;
    }
    tokens
}

/// Number of tokens, number of slots, pairs of ASCII characters, slots, where each token begins and the last ends, the tokens' bytes.
fn table(packed: &[u8]) -> Vec<u8> {
    let tokens = unpack(packed);
    let count = tokens.len();
    assert!(count < 1 << hash::NUMBER_BITS, "the numbers fit their bits");
    let mut slots = vec![0_u32; (count * 2).next_power_of_two()];
    let shift = 64 - slots.len().trailing_zeros();
    let (mut starts, mut bytes) = (vec![0_u32], Vec::new());
    let mut pairs = vec![0_u32; hash::PAIRS];
    for (number, token) in (0_u32..).zip(&tokens) {
        let hash = hash::hash(token);
        let mut at = (hash >> shift) as usize;
        while slots[at] != 0 {
            at = (at + 1) % slots.len();
        }
        slots[at] = hash::mark(hash) | (number + 1);
        if let [a, b] = token.as_slice()
            && let Some(pair) = hash::pair(*a, *b)
        {
            pairs[pair] = number + 1;
        }
        bytes.extend_from_slice(token);
        starts.push(bytes.len() as u32);
    }
    let head = [count as u32, slots.len() as u32];
    let numbers = head.iter().chain(&pairs).chain(&slots).chain(&starts).flat_map(|number| number.to_le_bytes());
    numbers.chain(bytes).collect()
}

/// General categories and white space, with the number that stands for each; what is in none is 0.
const CLASSES: [(&str, u8); 6] =
    [(r"\p{Lu}\p{Lt}", 1), (r"\p{Ll}", 2), (r"\p{Lm}\p{Lo}", 3), (r"\p{M}", 4), (r"\p{N}", 5), (r"\s", 6)];

/// The class of every character in blocks of 256: for each block the place of its classes, then the classes.
fn classes() -> Vec<u8> {
    let mut of = vec![0_u8; 0x11_0000];
    for (members, number) in CLASSES {
        let parsed = regex_syntax::parse(&format!("[{members}]")).expect("a class");
        let HirKind::Class(Class::Unicode(ranges)) = parsed.into_kind() else { panic!("a class") };
        for range in ranges.ranges() {
            of[range.start() as usize..=range.end() as usize].fill(number);
        }
    }
    of['\n' as usize] = 7;
    of['\r' as usize] = 7;
    let (mut places, mut blocks) = (Vec::new(), Vec::<&[u8]>::new());
    for block in of.chunks(256) {
        let place = blocks.iter().position(|known| *known == block).unwrap_or(blocks.len());
        if place == blocks.len() {
            blocks.push(block);
        }
        places.push(u8::try_from(place).expect("few blocks differ"));
    }
    places.into_iter().chain(blocks.concat()).collect()
}
