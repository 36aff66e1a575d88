"""Calls about the turns of a session."""

from collections.abc import Sequence
from typing import Literal

from neap.call import Call, get, new_id, part, post_once, put
from neap.calls.sessions import of
from neap.forms import (
    Appended,
    Author,
    Change,
    Diff,
    NewMessagesMessages,
    Page,
    Prompt,
    RecordedTurn,
    SeriesRow,
    Turn,
    TurnRow,
)

TurnNumber = int | Literal["latest"]


def list_turns(
    session: str, *, limit: int | None = None, cursor: str | None = None, before: int | None = None
) -> Call[Page[TurnRow]]:
    """Turns, newest first."""
    return get(of(session, "/turns"), limit=limit, cursor=cursor, before=before)


def series(
    session: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    before: int | None = None,
    points: int | None = None,
) -> Call[Page[SeriesRow]]:
    """Turns for plots, newest first; so many `points`, evenly spaced over the session."""
    return get(of(session, "/series"), limit=limit, cursor=cursor, before=before, points=points)


def list_changes(
    session: str, *, limit: int | None = None, cursor: str | None = None, before: int | None = None
) -> Call[Page[Change]]:
    """What entered a prompt, left it or was rewritten, and why; newest first."""
    return get(of(session, "/changes"), limit=limit, cursor=cursor, before=before)


def explain_turn(session: str, turn: TurnNumber) -> Call[Turn]:
    """A turn: its words, tool rounds, what happened, and its ledger."""
    return get(of(session, f"/turns/{part(turn)}"))


def record_turn(
    session: str,
    message: str,
    reply: str,
    *,
    author: Author | None = None,
    at: int | None = None,
    turn: str | None = None,
) -> Call[RecordedTurn]:
    """Record a turn for which the caller ran the model; `at` is when it was said, if not just now.

    `turn` is the caller's own id for it: the same one again records nothing. Without it, the client makes one up.
    """
    body = {"message": message, "reply": reply, "author": author, "at": at}
    return put(of(session, f"/turns/{part(new_id() if turn is None else turn)}"), body)


def append_messages(
    session: str, messages: Sequence[NewMessagesMessages], *, author: Author | None = None, key: str | None = None
) -> Call[Appended]:
    """Record messages, at most 256; the first begins an exchange.

    The same `key` again records nothing. Without it, the client makes one up.
    """
    return post_once(of(session, "/messages"), {"messages": list(messages), "author": author}, key)


def show_prompt(
    session: str,
    turn: TurnNumber,
    *,
    block: int | None = None,
    offset: int | None = None,
    limit: int | None = None,
) -> Call[Prompt]:
    """What was sent for a turn, in blocks."""
    return get(of(session, f"/turns/{part(turn)}/prompt"), block=block, offset=offset, limit=limit)


def diff_prompts(session: str, turn: TurnNumber, *, with_: int | None = None) -> Call[Diff]:
    """What differs between a turn's prompt and another, the one before unless `with_` is given."""
    return get(of(session, f"/turns/{part(turn)}/diff"), **{"with": with_})
