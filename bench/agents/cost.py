"""The bill of a conversation at the provider: as it was sent, and as it would have been sent untouched.

What a request has in common with the one before, from its beginning on, is read from the provider's cache; the rest is written to it.
Prices are relative to that of an input token.
"""

READ, WRITE = 0.1, 1.25


def bill(requests):
    """Of (tokens, cached) pairs: thousands of input tokens at full price."""
    return sum(cached * READ + (tokens - cached) * WRITE for tokens, cached in requests) / 1_000


def common(before, after):
    """How many pieces two requests have in common at their beginning."""
    pairs = zip(before, after)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(before), len(after)))


def as_sent(requests, tokens):
    """Of requests, each a list of texts: (tokens, cached)."""
    before = []
    for pieces in requests:
        sizes = [tokens(piece) for piece in pieces]
        yield sum(sizes), sum(sizes[:common(before, pieces)])
        before = pieces


def untouched(sizes):
    """Histories that only grow: (tokens, cached)."""
    before = 0
    for size in sizes:
        yield size, min(before, size)
        before = size
