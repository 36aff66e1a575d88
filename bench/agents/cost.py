"""The bill of a conversation at the provider, and where it comes from.

What a request has in common with the one before, from its beginning on, is read from the provider's cache; the rest is written to it.
Prices are relative to that of an input token.
"""

import json
import os
import re

READ, WRITE = 0.1, 1.25

RECORD = re.compile(r"§\[Earlier in this conversation.*?§\[End of the record\]", re.S)
RECALLED = re.compile(r"§\[(?:Said before|Recalled from earlier).*?(?:§\[End of what was said before\]|§\[End of the record\]|$)", re.S)


def shown(part):
    """A part of a request as text, without the marks that clients move from turn to turn."""
    if isinstance(part, dict):
        part = {key: value for key, value in part.items() if key != "cache_control"}
    return json.dumps(part, ensure_ascii=False, sort_keys=True)


def items(asked):
    """The messages, and where the first one stands that is not system text."""
    every = asked.get("messages") or asked.get("input") or []
    return every, next((at for at, item in enumerate(every) if item.get("role") not in ("system", "developer")), len(every))


def newest(asked):
    """The newest message that is no reminder of the client's program."""
    return next(item for item in reversed(items(asked)[0]) if item.get("role") not in ("system", "developer"))


def parts(item):
    content = item.get("content")
    return [f"{item.get('role', '')} {shown(part)}" for part in (content if isinstance(content, list) else [item])]


def fixed(asked):
    """Tools and system text, in the order in which providers cache them: one text for each part."""
    found = []
    for name in ("tools", "system", "instructions"):
        value = asked.get(name, [])
        found += map(shown, value if isinstance(value, list) else [value])
    every, begin = items(asked)
    return found + [part for item in every[:begin] for part in parts(item)]


def history(asked):
    """What was said: one text for each part of a message."""
    every, begin = items(asked)
    return [part for item in every[begin:] for part in parts(item)]


def pieces(asked):
    return fixed(asked) + history(asked)


class Counter:
    """A provider's tokenizer, which is not Neap's: so many tokens for one of o200k_base, which it estimates within 3 % on prose, code and JSON."""

    PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]+|_+|\n+|[ \t]{2,}")

    def __init__(self, rate):
        self.rate, self.known = rate, {}

    def __call__(self, text):
        if text not in self.known:
            self.known[text] = self.rate * sum(map(self.of, self.PIECE.findall(text)))
        return self.known[text]

    @staticmethod
    def of(piece):
        longest = 10 if piece[0].isalpha() else 3 if not piece[0].isspace() else len(piece)
        return -(-len(piece) // longest)

    def size(self, asked):
        return sum(map(self, pieces(asked)))


def common(before, after):
    """What two requests have in common at their beginning: how many whole pieces, and the share of the next."""
    for at, (one, other) in enumerate(zip(before, after)):
        if one != other:
            return at, len(os.path.commonprefix([one, other])) / len(other)
    return min(len(before), len(after)), 0


def accounts(requests, tokens):
    """Of requests in order: pairs of tokens and those of them that are read from the cache."""
    before = []
    for asked in requests:
        after = pieces(asked)
        whole, part = common(before, after)
        yield sum(map(tokens, after)), sum(map(tokens, after[:whole])) + part * sum(map(tokens, after[whole:whole + 1]))
        before = after


def bill(pairs):
    """Thousands of input tokens at full price."""
    return sum(cached * READ + (size - cached) * WRITE for size, cached in pairs) / 1_000


def highest_running(pairs, untouched):
    """The highest ratio of what was paid so far to what the untouched requests so far cost, after any request."""
    paid = whole = highest = 0
    for one, other in zip(pairs, untouched, strict=True):
        paid, whole = paid + bill([one]), whole + bill([other])
        highest = max(highest, paid / whole)
    return highest


def breaks(requests):
    """The requests that do not go on from the one before, by number."""
    texts = [pieces(asked) for asked in requests]
    return [at + 1 for at, (one, other) in enumerate(zip(texts, texts[1:])) if common(one, other)[0] < len(one)]


def kinds(piece, own, tokens):
    """How many tokens of a piece of history are of each kind; `own` are the pieces that the client sent."""
    if piece in own:
        return {"client's": tokens(piece)}
    shown = piece.replace("\\n", "\n")
    record, recalled = (sum(map(tokens, mark.findall(shown))) for mark in (RECORD, RECALLED))
    rest = max(tokens(piece) - record - recalled, 0)
    return {"record": record, "recalled": recalled, "client's" if record + recalled else "shortened": rest}


def spent(requests, own, tokens):
    """Where the bill comes from, in thousands of input tokens: of each kind what was read, written first and written again."""
    told, before, known = {}, [], set()
    for asked in requests:
        head, after = len(fixed(asked)), pieces(asked)
        whole, part = common(before, after)
        for at, piece in enumerate(after):
            of = {"tools and system": tokens(piece)} if at < head else kinds(piece, own, tokens)
            share = 1 if at < whole else part if at == whole else 0
            for kind, size in of.items():
                row = told.setdefault(kind, {"read": 0, "written": 0, "written again": 0})
                row["read"] += size * share * READ / 1_000
                row["written again" if piece in known else "written"] += size * (1 - share) * WRITE / 1_000
        known.update(after)
        before = after
    return {kind: {how: round(value, 1) for how, value in row.items()} for kind, row in told.items() if sum(row.values()) > 0.05}


def recalled_share(requests, own, tokens):
    """How many of the tokens of messages were recalled, each distinct message counted once."""
    distinct = {piece for asked in requests for piece in history(asked)}
    of = [kinds(piece, own, tokens) for piece in distinct]
    return sum(one.get("recalled", 0) for one in of) / sum(sum(one.values()) for one in of)
