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

FILLERS = {
    "prose": "reports of changes, and every fourth turn a short command",
    "coding": "every turn a command: files are read, searched and written, tests are run",
    "documents": "every turn a part of a document",
}


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


def lines(turns, filler):
    return [line(turn, turns, filler) for turn in range(1, turns + 1)]


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
        return f"Step {turn}: please run over {coded(turn).name} once more and {TASKS[turn % len(TASKS)]}."
    every = files("documents")
    text = every[turn % len(every)].read_text()
    at = turn * 2_500 % max(len(text) - 5_000, 1)
    return f"Step {turn}: here is a part of a document, keep what matters of it.\n\n{text[at:at + 5_000]}"


TASKS = ["read it", "see where its functions are used", "write it anew", "run its tests"]


def coded(turn):
    """The file that a turn is about: one for several turns, and some of them come back."""
    every = files("coding")
    return every[turn // len(TASKS) * 7 % min(len(every), 24)]


def command(turn_text):
    """The command that the model runs for a message: a check, or what the message says about a file that it names."""
    for path in files("coding"):
        if f" {path.name} " not in turn_text:
            continue
        task = next(at for at, words in enumerate(TASKS) if words in turn_text)
        step = int(turn_text.split("Step ")[1].split(":")[0])
        own = path.name
        return [
            f"cat {path} | head -c 9000",
            f"grep -rn 'pub fn' {path.parent} | head -c 8000",
            f"cat > {own} <<'END'\n// Version {step}\n{path.read_text()[step * 100 % 2_000:][:2_500]}\nEND",
            f"for i in $(seq 1 150); do echo \"test {own[:-3]}::case_$i ... ok\"; done; echo 'test {own[:-3]}::last_{step} ... FAILED'; "
            f"echo \"thread 'last_{step}' panicked at {own}:{step}: left 1, right 2\"; echo 'test result: FAILED. 150 passed; 1 failed'",
        ][task]
    return "echo " + "out " * 60


def reply(turn_text):
    """What the model answers to a message."""
    return next((answer for told, answer, *_ in FACTS.values() if told in turn_text), NOTED)
