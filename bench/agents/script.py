"""What is said to an agent, turn by turn: facts early, filler of one kind, and questions about the facts 20 and 60 turns later and at the end."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTED = "Noted. " + "I keep that in mind and go on with the next part of the work. " * 6
PROSE = "The parser now reads the header first, then the table of lengths, and only then the rows themselves. " * 8
FIRST = 3

# Kind: what tells it, what the model answers, the question, and the words that must be in what is sent with it.
FACTS = {
    "same words": ("Remember: the staging database is called heron-7 and listens on port 6543.", NOTED,
                   "What is the name of the staging database, and its port?", ["heron-7", "6543"]),
    "paraphrase": ("The nightly export job writes its files to the bucket marlin-attic.", NOTED,
                   "Where do the files end up that get written every night?", ["marlin-attic"]),
    "said by the model": ("Pick a code name for the next release and tell me which.",
                          "I picked osprey-41 as the code name of the next release, since no other release has a bird.",
                          "Which code name did you pick for the next release?", ["osprey-41"]),
}
KINDS = list(FACTS)


def asked(turn, turns):
    """The kind of fact that is asked for in a turn, and how many turns after it was told."""
    for nth, kind in enumerate(KINDS):
        for distance in (20, 60, turns - FIRST - 2):
            if turn == FIRST + nth + distance and turn <= turns:
                return kind, distance
    return None


def files(kind):
    """Text of this repository, by kind of filler."""
    pattern = {"coding": "crates/neap-engine/src/**/*.rs", "documents": "docs/**/*.md"}[kind]
    return sorted(path for path in ROOT.glob(pattern) if path.stat().st_size > 2_000)


def line(turn, turns, filler):
    """What the user says in a turn."""
    if FIRST <= turn < FIRST + len(KINDS):
        return FACTS[KINDS[turn - FIRST]][0]
    if found := asked(turn, turns):
        return FACTS[found[0]][2]
    if filler == "prose":
        if turn % 4 == 0:
            return f"Step {turn}: please run the check of part {turn} and tell me."
        return f"Step {turn}: I changed src/part_{turn}.rs. {PROSE}"
    if filler == "coding":
        every = files("coding")
        return f"Step {turn}: please run over {every[turn * 7 % len(every)].name} once more and fix what is wrong there."
    every = files("documents")
    text = every[turn % len(every)].read_text()
    at = turn * 2_500 % max(len(text) - 5_000, 1)
    return f"Step {turn}: here is a part of a document, keep what matters of it.\n\n{text[at:at + 5_000]}"


def command(turn_text):
    """The command that the model runs for a message: a check, or reading the file that the message names."""
    for path in files("coding"):
        if f" {path.name} " in turn_text:
            return f"head -c 9000 {path}"
    return "echo " + "out " * 60


def reply(turn_text):
    """What the model answers to a message."""
    return next((answer for told, answer, *_ in FACTS.values() if told in turn_text), NOTED)
