//! Finds the transcript files of a program.

use std::path::{Path, PathBuf};

use neap_model::transcript::Program;

use crate::out::Failure;

const DEPTH_MAX: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TranscriptFile {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
}

/// All transcripts at some paths, sorted. A file named explicitly is included whatever its name.
pub(crate) fn find(program: Program, paths: &[PathBuf]) -> Result<Vec<TranscriptFile>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            walk(program, path, DEPTH_MAX, &mut found)?;
        } else {
            found.push(path.clone());
        }
    }
    found.sort();
    found.dedup();
    Ok(found.into_iter().map(|path| TranscriptFile { name: conversation_name(program, &path), path }).collect())
}

fn walk(program: Program, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        // Links are not followed: they may form a cycle or leave the folder.
        if kind.is_dir() && depth > 0 {
            walk(program, &path, depth - 1, found)?;
        } else if kind.is_file() && is_transcript(program, &entry.file_name().to_string_lossy()) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_transcript(program: Program, name: &str) -> bool {
    match program {
        Program::ClaudeCode => name.ends_with(".jsonl"),
        Program::Codex => name.starts_with("rollout-") && name.ends_with(".jsonl"),
        Program::ChatGpt | Program::ClaudeAi => name.starts_with("conversations") && name.ends_with(".json"),
    }
}

/// The conversation of a file. A subagent's transcript is in a folder below its session's.
fn conversation_name(program: Program, path: &Path) -> String {
    let text = |path: Option<&Path>| {
        path.and_then(Path::file_stem).map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    let folder = path.parent();
    let is_subagent = folder.and_then(Path::file_name).is_some_and(|name| name == "subagents");
    if program == Program::ClaudeCode && is_subagent {
        text(folder.and_then(Path::parent))
    } else {
        text(Some(path))
    }
}
