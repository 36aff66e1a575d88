"""Calls about sessions."""

from collections.abc import Mapping, Sequence
from typing import Any

from neap.call import Call, Download, ask, delete, download, get, part, post_once, put, query_text
from neap.forms import (
    Brief,
    EntriesAppended,
    Erased,
    Event,
    Original,
    Page,
    Receipt,
    Session,
    SessionDetail,
    SessionErasure,
    SessionReport,
)


def list_sessions(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    q: str | None = None,
    project: str | None = None,
    erased: bool | None = None,
) -> Call[Page[Session]]:
    """Sessions, last changed first; `q` is a part of the name."""
    return get("/sessions", limit=limit, cursor=cursor, q=q, project=project, erased=erased)


def show_session(session: str) -> Call[SessionDetail]:
    """A session."""
    return get(of(session))


def put_session(session: str, *, set: Mapping[str, str] | None = None) -> Call[SessionDetail]:
    """Begin a session, or change its settings."""
    return put(of(session), {"set": set})


def erase_session(session: str, *, confirm: str) -> Call[Erased]:
    """Erase a session's words for good; `confirm` is its name once more."""
    return delete(of(session), confirm=confirm)


def preview_session_erasure(session: str) -> Call[SessionErasure]:
    """What erasing a session would take."""
    return get(of(session, "/erasure"))


def export_session(session: str) -> Download[dict[str, Any]]:
    """All events of a session, oldest first."""
    return download(of(session, "/export"))


def append_entries(session: str, entries: Sequence[str], *, key: str | None = None) -> Call[EntriesAppended]:
    """Store texts that only the caller reads, at most 256: they come back as they are, and no search finds them.

    One of the session's last keys again stores nothing. Without it, the client makes one up.
    """
    return post_once(of(session, "/entries"), {"entries": list(entries)}, key)


def read_entries(session: str, *, after: int | None = None) -> Download[dict[str, Any]]:
    """What `append_entries` stored, oldest first, each part with its `seq`; of events after `after`."""
    return download(of(session, "/entries") + query_text({"after": after}))


def list_events(session: str, *, limit: int | None = None, cursor: str | None = None) -> Call[Page[Event]]:
    """The recorded events, oldest first."""
    return get(of(session, "/events"), limit=limit, cursor=cursor)


def session_report(session: str) -> Call[SessionReport]:
    """Figures of a session."""
    return get(of(session, "/report"))


def list_receipts(session: str, *, limit: int | None = None, cursor: str | None = None) -> Call[Page[Receipt]]:
    """What each summary kept of its original, newest first."""
    return get(of(session, "/receipts"), limit=limit, cursor=cursor)


def show_original(session: str, handle: str, *, offset: int | None = None, limit: int | None = None) -> Call[Original]:
    """The original text behind a handle."""
    return get(of(session, f"/originals/{part(handle)}"), offset=offset, limit=limit)


def build_context(session: str, *, question: str | None = None, budget: int | None = None) -> Call[Brief]:
    """What to give a model of this session, within a budget of tokens."""
    return ask(of(session, "/context"), {"question": question, "budget": budget})


def of(session: str, rest: str = "") -> str:
    return f"/sessions/{part(session)}{rest}"
