"""Recall of evidence turns within a token budget: cosine alone and fused with BM25."""

import gzip
import json
import math
import re
from collections import Counter

import numpy as np

BUDGETS = (500, 1000, 2000)
STOP_WORDS = set(
    "a about above after again against all am an and any are as at be because been before being below between both but by "
    "can could did do does doing down during each few for from further had has have having he her here hers him his how i if "
    "in into is it its itself just me more most my no nor not now of off on once only or other our out over own same she "
    "should so some such than that the their them then there these they this those through to too under until up very was "
    "we were what when where which while who whom why will with would you your s t d ll m re ve".split()
)


def read(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def stem(word):
    """A light suffix stripper: enough to compare encoders under the same words."""
    for suffix, rest in (("ingly", 3), ("edly", 3), ("ies", 2), ("ing", 3), ("ed", 3), ("es", 3), ("ly", 3), ("s", 3)):
        if word.endswith(suffix) and len(word) - len(suffix) >= rest and not word.endswith("ss"):
            word = word[: -len(suffix)] + ("y" if suffix == "ies" else "")
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def terms(text):
    words = re.findall(r"[^\W_]+", text.lower())
    return [stem(word) for word in words if word not in STOP_WORDS]


class Bm25:
    def __init__(self, texts, k1=1.2, b=0.75):
        self.postings, lengths = {}, []
        for number, text in enumerate(texts):
            counts = Counter(terms(text))
            lengths.append(sum(counts.values()))
            for term, count in counts.items():
                self.postings.setdefault(term, []).append((number, count))
        lengths = np.array(lengths, dtype=np.float64)
        self.norm = k1 * (1 - b + b * lengths / max(lengths.mean(), 1))
        self.k1, self.size = k1, len(texts)

    def scores(self, question):
        out = np.zeros(self.size)
        for term in set(terms(question)):
            found = self.postings.get(term, [])
            idf = math.log(1 + (self.size - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                out[number] += idf * count * (self.k1 + 1) / (count + self.norm[number])
        return out


def z(scores):
    return (scores - scores.mean()) / (scores.std() + 1e-9)


def ranks(scores):
    out = np.empty(len(scores))
    out[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return out


def smooth(scores, sessions, weight=0.3):
    """Adds a share of both neighbours' scores within the same session."""
    out, same = scores.copy(), sessions[1:] == sessions[:-1]
    out[1:] += weight * np.where(same, scores[:-1], 0)
    out[:-1] += weight * np.where(same, scores[1:], 0)
    return out


def recall(scores, tokens, evidence, budgets=BUDGETS):
    found = np.zeros(len(budgets))
    order = np.argsort(-scores, kind="stable")
    for at, budget in enumerate(budgets):
        left, taken = budget, set()
        for number in order[:400]:
            if tokens[number] <= left:
                left -= tokens[number]
                taken.add(int(number))
            if left < 4:
                break
        found[at] = len(taken & evidence) / len(evidence)
    return found


def orders(lexical, cosine, sessions):
    rrf = 1 / (60 + ranks(lexical)) + 1 / (60 + ranks(cosine))
    fused = z(lexical) + z(cosine)
    return {
        "bm25": lexical,
        "cosine": cosine,
        "rrf": rrf,
        "z": fused,
        "z-smooth": smooth(fused, sessions),
    }


def token_count(text):
    return len(re.findall(r"\w+|[^\w\s]", text)) + 6


def clipped(talk, most=700):
    """The talk with long texts cut, and what the whole texts are needed for: token counts and lexical scores."""
    turns = talk["turns"]
    bm25 = Bm25([f"{turn['who']}: {turn['text']}" for turn in turns])
    scores = [[round(value, 3) for value in bm25.scores(question["q"]).tolist()] for question in talk["questions"]]
    short = [{**turn, "text": turn["text"][:most]} for turn in turns]
    return {**talk, "turns": short, "tokens": [token_count(turn["text"]) for turn in turns], "lexical": scores}


class Collection:
    """Texts, questions and evidence of one file; the lexical scores are computed once."""

    def __init__(self, name, path):
        self.name, self.talks = name, []
        for talk in read(path):
            turns, at = talk["turns"], {}
            for number, turn in enumerate(turns):
                at[turn["id"]] = number
            sessions = np.array([turn["session"] for turn in turns])
            bm25 = None if "lexical" in talk else Bm25([f"{turn['who']}: {turn['text']}" for turn in turns])
            questions = []
            for number, question in enumerate(talk.get("questions", [])):
                evidence = {at[turn] for turn in question.get("evidence", []) if turn in at}
                if evidence:
                    seen = sessions < question["before"] if question.get("before") is not None else None
                    lexical = bm25.scores(question["q"]) if bm25 else np.array(talk["lexical"][number])
                    questions.append((question["q"], evidence, lexical, seen))
            tokens = talk.get("tokens") or [token_count(turn["text"]) for turn in turns]
            self.talks.append((turns, sessions, tokens, questions))

    def texts(self, form):
        return [form(turns, number) for turns, *_ in self.talks for number in range(len(turns))]

    def questions(self):
        return [question[0] for *_, questions in self.talks for question in questions]

    def score(self, text_vectors, question_vectors):
        """Mean recall per way to rank, as {way: [recall per budget]}."""
        sums, count, first, asked = {}, 0, 0, 0
        for turns, sessions, tokens, questions in self.talks:
            vectors = text_vectors[first : first + len(turns)]
            first += len(turns)
            for _, evidence, lexical, seen in questions:
                cosine = vectors @ question_vectors[asked]
                asked += 1
                for way, scores in orders(lexical, cosine, sessions).items():
                    scores = scores if seen is None else np.where(seen, scores, -np.inf)
                    sums[way] = sums.get(way, 0) + recall(scores, tokens, evidence)
                count += 1
        return {way: [round(float(100 * value / count), 2) for value in total] for way, total in sums.items()}


def alone(turns, number):
    return turns[number]["text"]


def named(turns, number):
    return f"{turns[number]['who']}: {turns[number]['text']}"


def before(turns, number, words=40):
    """The named text after the end of the text before it in the same session."""
    if number == 0 or turns[number - 1]["session"] != turns[number]["session"]:
        return named(turns, number)
    end = " ".join(named(turns, number - 1).split()[-words:])
    return f"{named(turns, number)}\n{end}"


FORMS = {"alone": alone, "named": named, "before": before}
