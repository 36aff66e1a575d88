"""Calls about the server as a whole, and the search."""

from typing import Any, Literal

from neap.call import Call, Download, ask, get, watch
from neap.forms import Document, Expected, Health, Hit, Jobs, Page, RequestLog, StoreReport
from neap.live import LiveEvent

SearchIn = Literal["talk", "raw", "efforts", "memories", "all"]


def health() -> Call[Health]:
    """Whether the store answers."""
    return get("/health")


def openapi() -> Call[Document]:
    """The document of the API."""
    return get("/openapi.json")


def report() -> Call[StoreReport]:
    """Totals of all sessions."""
    return get("/report")


def jobs() -> Call[Jobs]:
    """What goes on in the background."""
    return get("/jobs")


def requests(*, after: int | None = None) -> Call[RequestLog]:
    """The proxy's last requests."""
    return get("/requests", after=after)


def events(*, last_event_id: str | None = None) -> Download[LiveEvent]:
    """What happens now; from the event after `last_event_id`, if that is given."""
    return watch("/events", last_event_id)


def search(
    query: str,
    *,
    session: str | None = None,
    in_: SearchIn | None = None,
    by: str | None = None,
    effort: str | None = None,
    since: int | None = None,
    project: str | None = None,
    here: str | None = None,
    max: int | None = None,
) -> Call[Page[Hit]]:
    """Search what was said."""
    return ask("/search", question(query, session, in_, by, effort, since, project, here, max))


def expect(
    query: str,
    expect: str,
    *,
    session: str | None = None,
    in_: SearchIn | None = None,
    by: str | None = None,
    effort: str | None = None,
    since: int | None = None,
    project: str | None = None,
    here: str | None = None,
    max: int | None = None,
) -> Call[Expected]:
    """Why a search finds a text or not: `expect` is a turn such as auth/t3, an effort's id or a memory's."""
    body = question(query, session, in_, by, effort, since, project, here, max)
    return ask("/search/expect", {**body, "expect": expect})


def question(
    query: str,
    session: str | None,
    in_: SearchIn | None,
    by: str | None,
    effort: str | None,
    since: int | None,
    project: str | None,
    here: str | None,
    max: int | None,
) -> dict[str, Any]:
    return {
        "query": query,
        "session": session,
        "in": in_,
        "by": by,
        "effort": effort,
        "since": since,
        "project": project,
        "here": here,
        "max": max,
    }
