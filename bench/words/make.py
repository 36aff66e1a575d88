#!/usr/bin/env python3
"""Counts in how many paragraphs of openly licensed text each word is, and writes the common ones.

    bench/words/make.py > crates/neap-core/src/text/background_words.txt

Reads the documentation of the Rust toolchain (`rustup doc`: the books and the standard library's, MIT or Apache-2.0) and
the doc comments of the downloaded crates that are under MIT or Apache-2.0. Only counts are kept, none of the text. A
paragraph is a unit because a memory or a message is about as long.
"""

import collections
import html
import os
import pathlib
import re
import subprocess
import sys

SHARE_MIN = 0.001
WORDS_MIN = 6
PARAGRAPHS_MAX_PER_SOURCE = 2_000
WORD = re.compile(r"[a-z]{2,20}(?![a-z0-9_])")
LICENCES = ("MIT", "Apache-2.0")


def doc_paragraphs():
    root = pathlib.Path(subprocess.check_output(["rustc", "--print", "sysroot"], text=True).strip())
    base = root / "share/doc/rust/html"
    for folder in sorted(p for p in base.iterdir() if p.is_dir()):
        taken = 0
        for page in sorted(folder.rglob("*.html")):
            if taken >= PARAGRAPHS_MAX_PER_SOURCE:
                break
            text = page.read_text(errors="replace")
            for found in re.findall(r"<(?:p|li)>(.*?)</(?:p|li)>", text, re.S):
                found = re.sub(r"<code>.*?</code>", " ", found, flags=re.S)
                taken += 1
                yield html.unescape(re.sub(r"<[^>]+>", " ", found))


def crate_paragraphs():
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    for crate in sorted((home / "registry/src").glob("*/*")):
        manifest = crate / "Cargo.toml"
        licence = re.search(r'^license = "(.*)"', manifest.read_text(errors="replace"), re.M) if manifest.exists() else None
        if not licence or not any(name in licence.group(1) for name in LICENCES):
            continue
        taken = 0
        for source in sorted(crate.rglob("*.rs")):
            if taken >= PARAGRAPHS_MAX_PER_SOURCE // 4:
                break
            paragraph, in_code = [], False
            for line in source.read_text(errors="replace").splitlines() + [""]:
                said = re.match(r"\s*//[/!] ?(.*)", line)
                text = said.group(1) if said else ""
                in_code ^= text.startswith("```")
                if said and text.strip() and not in_code and not text.startswith(("```", "    ", "#", "|")):
                    paragraph.append(re.sub(r"`[^`]*`", " ", text))
                elif paragraph:
                    taken += 1
                    yield " ".join(paragraph)
                    paragraph = []


def main():
    seen, total = collections.Counter(), 0
    for paragraphs in (doc_paragraphs(), crate_paragraphs()):
        unique = set()
        for paragraph in paragraphs:
            words = WORD.findall(paragraph.lower())
            key = " ".join(words)
            if len(words) < WORDS_MIN or key in unique:
                continue
            unique.add(key)
            total += 1
            seen.update(set(words))
    print(f"# Words by how many of {total} paragraphs have them, per ten thousand. Made by bench/words/make.py.")
    for word, count in sorted(seen.items()):
        if count / total >= SHARE_MIN:
            print(f"{word} {round(10_000 * count / total)}")
    print(f"{total} paragraphs", file=sys.stderr)


main()
