"""Conversations with questions, one a line, plain or gzip: the shape that `neap lab eval` reads."""

import gzip
import json
from dataclasses import dataclass, field

# Names that say no more than which side spoke.
USERS = {"user", "human", ""}
ASSISTANTS = {"assistant", "agent", "ai", "model"}


@dataclass
class Turn:
    """Something that was said."""

    id: str
    session: int
    who: str
    said: str

    @property
    def role(self):
        return "assistant" if self.who.lower() in ASSISTANTS else "user"

    @property
    def text(self):
        """What a peer is given: with the name of who spoke where it is a person's, since questions ask by name."""
        named = self.who.lower() not in USERS | ASSISTANTS
        return f"{self.who}: {self.said}" if named else self.said


@dataclass
class Question:
    """What is asked, and which turns answer it."""

    text: str
    evidence: list
    # Only what was said in earlier sessions counts.
    before: int | None = None


@dataclass
class Conversation:
    """Sessions of turns in the order in which they took place, and questions about them."""

    id: str
    turns: list
    questions: list = field(default_factory=list)

    def sessions(self):
        grouped = {}
        for turn in self.turns:
            grouped.setdefault(turn.session, []).append(turn)
        return grouped


def read(path, most=None):
    """The first conversations of a file, or all of them."""
    return [conversation(row) for row in rows(path, most)]


def rows(path, most=None):
    """The same as they are written there."""
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    with (gzip.open if is_gzip else open)(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()][:most]


def conversation(row):
    turns = [
        Turn(str(turn.get("id", "")), turn.get("session", 0), turn.get("who", "").strip(), turn["text"])
        for turn in row["turns"]
    ]
    questions = [
        Question(question["q"], [str(id) for id in question.get("evidence") or []], question.get("before"))
        for question in row.get("questions", [])
    ]
    return Conversation(str(row["id"]), turns, questions)
