//! Checks the arrows between the rooms of `neap-core`: a room uses only those below it.

use std::path::Path;

/// From the bottom up.
const ROOMS: [&str; 8] = ["base", "text", "recall", "memory", "session", "context", "turn", "client"];

/// Upward uses that are left: a file, and the room that it uses. One that is gone must leave this list.
const EXCEPTIONS: &[(&str, &str)] = &[
];

const SOURCE: &str = "crates/neap-core/src/";

/// Upward uses that no exception allows, and exceptions that nothing needs.
pub(crate) fn violations(files: &[(std::path::PathBuf, String)]) -> Vec<String> {
    let mut needed = Vec::new();
    let mut found = Vec::new();
    for (path, text) in files {
        let Some((file, above)) = upward_uses(path, text) else { continue };
        for room in above {
            match EXCEPTIONS.iter().find(|exception| **exception == (file.as_str(), room)) {
                Some(exception) => needed.push(exception),
                None => found.push(format!("{SOURCE}{file}: uses {room}, which is above it")),
            }
        }
    }
    let gone = EXCEPTIONS.iter().filter(|exception| !needed.contains(exception));
    found.extend(
        gone.map(|(file, room)| format!("{file} no longer uses {room}: remove it from xtask/src/rooms.rs")),
    );
    found
}

/// The file within the core, and the rooms above its own that it uses outside of tests.
fn upward_uses(path: &Path, text: &str) -> Option<(String, Vec<&'static str>)> {
    let file = path.to_str()?.strip_prefix(SOURCE)?.to_owned();
    let own = ROOMS.iter().position(|room| file.split('/').next() == Some(room))?;
    if file.contains("tests") {
        return None;
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let uses = |room: &str| {
        let name = format!("crate::{room}::");
        code.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(&name))
    };
    Some((file, ROOMS[own + 1..].iter().copied().filter(|room| uses(room)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_upwards_is_found() {
        let uses =
            |file: &str, text: &str| upward_uses(Path::new(&format!("{SOURCE}{file}")), text).map(|(_, up)| up);
        assert_eq!(uses("base/ids.rs", "use crate::turn::Step;"), Some(vec!["turn"]));
        assert_eq!(uses("turn/mod.rs", "use crate::base::ids::TurnNo;\n// crate::client::x"), Some(vec![]));
        assert_eq!(uses("turn/tests/a.rs", "use crate::client::Chain;"), None);
        assert_eq!(uses("lib.rs", "use crate::client::Chain;"), None);
    }
}
