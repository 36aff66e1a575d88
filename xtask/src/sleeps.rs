//! Tests wait for conditions: a sleep is too short on a busy machine and too long on any other.

use std::path::Path;

const CALL: &str = concat!("sle", "ep(");

/// The helper that waits, and the tests in which the time itself is tested; how many each has.
const ALLOWED: [(&str, usize); 3] = [
    ("crates/neap-engine/tests/wait/mod.rs", 1),
    // Kills at random moments.
    ("crates/neap/tests/kill.rs", 2),
    // A slow response.
    ("crates/neap-server/src/proxy/listen/tests.rs", 1),
];

pub(crate) fn violations(path: &Path, text: &str) -> Vec<String> {
    let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
    let lines = (1..).zip(text.lines()).skip_while(|(_, line)| !is_test && *line != "mod tests {");
    let found: Vec<usize> = lines.filter(|(_, line)| line.contains(CALL)).map(|(at, _)| at).collect();
    let allowed = ALLOWED.iter().find(|(file, _)| Path::new(file) == path).map_or(0, |(_, count)| *count);
    if found.len() <= allowed {
        return Vec::new();
    }
    let report = |line: &usize| {
        format!("{}: line {line}: waits for a time; wait for a condition (`wait_until`)", path.display())
    };
    found.iter().map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        violations(Path::new(path), &text.replace("nap(", CALL)).len()
    }

    #[test]
    fn a_sleep_is_refused_in_tests() {
        let waits = "fn wait() {\n    std::thread::nap(PAUSE);\n}\n";
        assert_eq!(found("crates/neap/tests/serve.rs", waits), 1);
        assert_eq!(found("crates/neap-server/src/proxy/tests.rs", waits), 1);
        assert_eq!(found("crates/neap/src/watch.rs", waits), 0);
        let inside = format!("{waits}#[cfg(test)]\nmod tests {{\n{waits}}}\n");
        assert_eq!(found("crates/neap/src/watch.rs", &inside), 1);
        assert_eq!(found("crates/neap-engine/tests/wait/mod.rs", waits), 0);
        assert_eq!(found("crates/neap-engine/tests/wait/mod.rs", &waits.repeat(2)), 2);
    }
}
