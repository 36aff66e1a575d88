//! Checks the arrows between the rooms of `neap-core`: a room uses only those below it.

use std::path::Path;

/// From the bottom up.
const ROOMS: [&str; 8] = ["base", "text", "recall", "memory", "session", "context", "turn", "client"];

const SOURCE: &str = "crates/neap-core/src/";

/// The uses that point up.
pub(crate) fn violations(files: &[(std::path::PathBuf, String)]) -> Vec<String> {
    let uses = files.iter().filter_map(|(path, text)| upward_uses(path, text));
    uses.flat_map(|(file, above)| {
        above.into_iter().map(move |room| format!("{SOURCE}{file}: uses {room}, which is above it"))
    })
    .collect()
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
