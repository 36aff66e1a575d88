//! Counting beside the tokenizer that is the tests' oracle, in one run: the first count of a process, then a megabyte of ordinary text, code and one
//! endless word.

use std::hint::black_box;
use std::time::{Duration, Instant};

const PROSE: &str =
    "The login failed with a 401 because the refresh token had expired; we now retry once, after 30 seconds. ";
const CODE: &str =
    "    let listener = TcpListener::bind(\"127.0.0.1:8080\")?; // E0382: use of moved value `self.inner`\n";

const CHINESE: &str = "我们决定使用连接池来解决数据库超时的问题，因为每个请求都会打开一个新的连接。";

/// Words that no encoding has learnt.
const MADE_UP: &str = "vurolax pemidox zanterix quobilax harnovex tibulox merasix gondaplex ";

fn timed(count: impl Fn() -> usize) -> Duration {
    let began = Instant::now();
    black_box(count());
    began.elapsed()
}

#[allow(clippy::print_stdout, reason = "it is a bench")]
fn main() {
    let first = [timed(|| neap_tokens::O200K.count(PROSE)), timed(|| bpe_openai::o200k_base().count(PROSE))];
    println!("{:14} {:>12.3?} {:>12.3?} {:>7.1} x", "first count", first[0], first[1], ratio(first));
    for (name, text) in [
        ("prose", PROSE),
        ("code", CODE),
        ("chinese", CHINESE),
        ("made-up words", MADE_UP),
        ("letters", "abcdefghij"),
        ("one letter", "a"),
    ] {
        let text = text.repeat((1 << 20) / text.len());
        let best = |count: &dyn Fn() -> usize| (0..5).map(|_| timed(count)).min().unwrap_or_default();
        let took = [best(&|| neap_tokens::O200K.count(&text)), best(&|| bpe_openai::o200k_base().count(&text))];
        println!("{name:14} {:>12.3?} {:>12.3?} {:>7.1} x", took[0], took[1], ratio(took));
    }
}

fn ratio([ours, theirs]: [Duration; 2]) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64()
}
