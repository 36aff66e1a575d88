"""Calls about the efforts of a session."""

from typing import Literal

from neap.call import Call, get, part, post
from neap.calls.sessions import of
from neap.forms import Effort, Exchange, Page, ToolReply

EffortAction = Literal["expand", "collapse", "conclude", "reopen", "switch"]


def list_efforts(session: str, *, limit: int | None = None, cursor: str | None = None) -> Call[Page[Effort]]:
    """Efforts, open ones first."""
    return get(of(session, "/efforts"), limit=limit, cursor=cursor)


def open_effort(session: str, name: str) -> Call[ToolReply]:
    """Open an effort."""
    return post(of(session, "/efforts"), {"name": name})


def show_effort(session: str, effort: str) -> Call[Effort]:
    """An effort."""
    return get(of(session, f"/efforts/{part(effort)}"))


def list_log(session: str, effort: str, *, limit: int | None = None, cursor: str | None = None) -> Call[Page[Exchange]]:
    """The log of an effort, newest first; of `ambient`: chat outside efforts."""
    return get(of(session, f"/efforts/{part(effort)}/log"), limit=limit, cursor=cursor)


def act_on_effort(session: str, effort: str, action: EffortAction) -> Call[ToolReply]:
    """Expand, collapse, conclude or reopen an effort, or switch to it."""
    return post(of(session, f"/efforts/{part(effort)}/{part(action)}"))
