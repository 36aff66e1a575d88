"""Writes training pairs (question, text) as JSON lines: python pairs.py COLLECTIONS WORDNET PERSONA_CSV... OUT"""

import csv
import gzip
import json
import random
import sys

from measure import STOP_WORDS, read
from questions import NAMES, Words, about_the_other, from_statement, keywords, sentences, varied

SEED = 20261119
COLLECTIONS = ("longmemeval", "realmem", "qmsum")


def clipped(text, words=110):
    return " ".join(text.split()[:words])


class Talk:
    """Turns of one conversation: (speaker, text) with the speakers' names, and whether the questions are in the first person."""

    def __init__(self, source, group, turns, to_user):
        self.source, self.group, self.turns, self.to_user = source, group, turns, to_user

    def text(self, at):
        who, text = self.turns[at]
        end = ""
        if at > 0:
            end = " ".join(f"{self.turns[at - 1][0]}: {self.turns[at - 1][1]}".split()[-40:])
        return {"d": clipped(f"{who}: {text}"), "before": end}

    def pair(self, kind, question, at):
        return {"source": self.source, "group": self.group, "kind": kind, "q": clipped(question, 60), **self.text(at)}


def made(talk, words, chance, people):
    """Pairs by rule from one conversation; `people`: the speakers that talk about themselves."""
    for at, (who, text) in enumerate(talk.turns):
        before = talk.turns[at - 1] if at else None
        if who in people:
            lines = sentences(text)
            chance.shuffle(lines)
            for line in lines[:3]:
                question = from_statement(line, who, talk.to_user, words, chance)
                if question:
                    yield talk.pair("statement", varied(question, words, chance) if chance.random() < 0.6 else question, at)
                elif chance.random() < 0.5:
                    found = keywords(line, who, chance, STOP_WORDS)
                    if found:
                        yield talk.pair("keywords", varied(found, words, chance), at)
            if before and before[0] != who and chance.random() < 0.9:
                asked = [line for line in sentences(before[1]) if line.endswith("?")][-1:]
                question = about_the_other(asked[0], who, talk.to_user) if asked else None
                if question:
                    yield talk.pair("answer", varied(question, words, chance, 0.2), at)
        if before and before[0] != who and len(text.split()) > 8 and len(before[1].split()) > 5:
            if who in people and chance.random() < 0.3:
                yield talk.pair("continued", text, at - 1)
            elif chance.random() < 0.4:
                yield {**talk.pair("next", before[1], at), "before": ""}


def persona(path, chance, words):
    rows = csv.DictReader(open(path, encoding="utf-8"))
    for number, row in enumerate(rows):
        pair = chance.sample(NAMES, 2)
        turns = []
        for line in row["Best Generated Conversation"].splitlines():
            who, _, text = line.partition(": ")
            if text and who in ("User 1", "User 2"):
                turns.append((pair[who == "User 2"], text))
        if not turns:
            continue
        talk = Talk("persona", f"persona/{path[-12:]}/{number}", turns, False)
        yield from made(talk, words, chance, pair)
        for who, column in zip(pair, ("user 1 personas", "user 2 personas"), strict=True):
            for fact in row[column].splitlines():
                best = max(range(len(turns)), key=lambda at: shared(fact, turns[at][1]) if turns[at][0] == who else 0)
                if turns[best][0] == who and shared(fact, turns[best][1]) >= 0.5:
                    question = from_statement(fact, who, False, words, chance) or f"{who}: {fact}"
                    yield talk.pair("persona", varied(question, words, chance), best)


def shared(fact, text):
    ours = {word for word in fact.lower().strip(".").split() if word not in STOP_WORDS}
    theirs = {word.strip(".,!?") for word in text.lower().split()}
    return len(ours & theirs) / len(ours) if ours else 0


def collection(name, folder, chance, words):
    seen = set()
    for number, found in enumerate(read(f"{folder}/{name}.jsonl.gz")):
        sessions = {}
        for turn in found["turns"]:
            sessions.setdefault(turn["session"], []).append(turn)
        for session, turns in sessions.items():
            first = turns[0]["text"][:200]
            if first in seen:
                continue
            seen.add(first)
            to_user = chance.random() < 0.6
            names = {} if to_user else dict(zip(("user", "assistant"), chance.sample(NAMES, 2), strict=True))
            lines = [(names.get(turn["who"].lower(), turn["who"]), turn["text"]) for turn in turns]
            talk = Talk(name, f"{name}/{number}/{session}", lines, to_user)
            people = {names.get("user", "user"), names.get("user", "User")} if name != "qmsum" else {who for who, _ in lines}
            for pair in made(talk, words, chance, people):
                if name != "qmsum" or len(pair["d"].split()) > 10:
                    yield pair
        at = {turn["id"]: place for place, turn in enumerate(found["turns"])}
        whole = Talk(name, f"{name}/{number}", [(turn["who"], turn["text"]) for turn in found["turns"]], True)
        for question in found.get("questions", []):
            evidence = [at[turn] for turn in question.get("evidence", []) if turn in at]
            evidence = [place for place in evidence if len(whole.turns[place][1].split()) > (10 if name == "qmsum" else 2)]
            chance.shuffle(evidence)
            for place in evidence[:8]:
                yield {**whole.pair("question", question["q"], place), "group": f"{name}/{number}/questions"}


def main():
    folder, wordnet, *tables, out = sys.argv[1:]
    chance, words = random.Random(SEED), Words(wordnet)
    counts = {}
    with gzip.open(out, "wt", encoding="utf-8") as file:
        for pairs in [collection(name, folder, chance, words) for name in COLLECTIONS] + [persona(path, chance, words) for path in tables]:
            for pair in pairs:
                key = f"{pair['source']} {pair['kind']}"
                counts[key] = counts.get(key, 0) + 1
                file.write(json.dumps(pair, ensure_ascii=False) + "\n")
    print(json.dumps(counts, indent=1))


if __name__ == "__main__":
    main()
