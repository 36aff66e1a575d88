"""The bill of a conversation: sent as it is, rewritten every time, and as Neap sends it.

Each request is (tokens that came, tokens that were sent on, how often the history had been cut). What stood at the same place in the request
before is read from the provider's cache; the rest is written to it. Prices are those of the policy's defaults, in dollars a million tokens.
"""

READ, WRITE = 0.30, 3.75


def bill(requests):
    """Of (sent, cached) pairs: millions of tokens sent, share that was cached, dollars."""
    sent = sum(tokens for tokens, _ in requests)
    cached = sum(read for _, read in requests)
    return sent / 1e6, 100 * cached / max(sent, 1), (cached * READ + (sent - cached) * WRITE) / 1e6


def untouched(heard):
    """All of it every time; only what is new is not in the cache."""
    before = 0
    for came, _, _ in heard:
        yield came, min(before, came)
        before = came


def every_time(heard, budget, head):
    """The oldest turns left out anew for each request: once it is full, only the head stays where it was."""
    before, was_cut = 0, False
    for came, _, _ in heard:
        sent, is_cut = min(came, budget), came > budget
        yield sent, min(head, sent) if is_cut or was_cut else min(before, sent)
        before, was_cut = sent, is_cut


def by_epochs(heard, head):
    """As it was sent: the same until it is cut again."""
    before, cut = 0, 0
    for _, sent, epoch in heard:
        yield sent, min(before if epoch == cut else head, sent)
        before, cut = sent, epoch


def table(heard, budget):
    """Lines of the bill. What stands before all messages (system text and tools) is most of the first request."""
    head = heard[0][0]
    rows = [("untouched", untouched(heard)), ("rewritten every time", every_time(heard, budget, head))]
    rows.append(("Neap, by epochs", by_epochs(heard, head)))
    return [f"{name:22}{sent:9.2f} M tokens{cached:7.1f} % cached{dollars:9.2f} dollars"
            for name, (sent, cached, dollars) in ((name, bill(list(requests))) for name, requests in rows)]
