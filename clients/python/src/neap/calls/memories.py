"""Questions about memories."""

from collections.abc import Sequence
from typing import Any, Literal

from neap.call import Call, Download, ask, download, get, part
from neap.forms import (
    Asked,
    Author,
    Expected,
    Frame,
    Memory,
    MemoryErasure,
    MemoryHit,
    MemoryStatus,
    Page,
    Pattern,
    Question,
    Trial,
    Version,
)

MemoryKind = Literal["decision", "fact", "procedure", "episode", "censor"]
Trust = Literal["low", "medium", "high"]


def list_memories(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    kind: MemoryKind | None = None,
    status: str | None = None,
    author: Author | None = None,
    trust: Trust | None = None,
    tag: str | None = None,
    q: str | None = None,
) -> Call[Page[Memory]]:
    """Memories, newest first; `q`: words that the text has."""
    return get(
        "/memories",
        limit=limit,
        cursor=cursor,
        kind=kind,
        status=status,
        author=author,
        trust=trust,
        tag=tag,
        q=q,
    )


def list_asked(*, limit: int | None = None, cursor: str | None = None) -> Call[Page[Asked]]:
    """What models asked to forget."""
    return get("/memories/asked", limit=limit, cursor=cursor)


def memory_status() -> Call[MemoryStatus]:
    """Counts of memories."""
    return get("/memories/status")


def export_memories() -> Download[dict[str, Any]]:
    """All memories."""
    return download("/memories/export")


def list_frames() -> Call[Page[Frame]]:
    """The frames of the agent."""
    return get("/memories/frames")


def show_memory(id: str) -> Call[Memory]:
    """A memory."""
    return get(of(id))


def memory_history(id: str, *, limit: int | None = None, cursor: str | None = None) -> Call[Page[Version]]:
    """The versions of a memory, oldest first."""
    return get(of(id, "/history"), limit=limit, cursor=cursor)


def memory_chain(id: str) -> Call[Page[Memory]]:
    """What a memory replaced and what replaced it, oldest first."""
    return get(of(id, "/chain"))


def preview_memory_erasure(id: str) -> Call[MemoryErasure]:
    """What erasing a memory would take."""
    return get(of(id, "/erasure"))


def recall(
    query: str | None = None,
    *,
    kinds: Sequence[MemoryKind] | None = None,
    time: str | None = None,
    project: str | None = None,
    here: str | None = None,
    superseded: bool | None = None,
    max: int | None = None,
) -> Call[Page[MemoryHit]]:
    """Search memories."""
    return ask("/memories/recall", question(query, kinds, time, project, here, superseded, max))


def expect_memory(
    expect: str,
    query: str | None = None,
    *,
    kinds: Sequence[MemoryKind] | None = None,
    time: str | None = None,
    project: str | None = None,
    here: str | None = None,
    superseded: bool | None = None,
    max: int | None = None,
) -> Call[Expected]:
    """Why a recall finds the memory `expect` or not."""
    body = question(query, kinds, time, project, here, superseded, max)
    return ask("/memories/expect", {**body, "expect": expect})


def explain_recall(
    question: str,
    *,
    frame: str | None = None,
    project: str | None = None,
    here: str | None = None,
    budget: int | None = None,
) -> Call[Question]:
    """What would be recalled for a question: every candidate with its score, and why it is in or out."""
    body = {"question": question, "frame": frame, "project": project, "here": here, "budget": budget}
    return ask("/memories/context", body)


def try_pattern(pattern: Pattern, text: str) -> Call[Trial]:
    """Whether a rule's pattern is found in a text."""
    return ask("/memories/try", {"pattern": pattern, "text": text})


def of(id: str, rest: str = "") -> str:
    return f"/memories/{part(id)}{rest}"


def question(
    query: str | None,
    kinds: Sequence[MemoryKind] | None,
    time: str | None,
    project: str | None,
    here: str | None,
    superseded: bool | None,
    max: int | None,
) -> dict[str, Any]:
    return {
        "query": query,
        "kinds": None if kinds is None else list(kinds),
        "time": time,
        "project": project,
        "here": here,
        "superseded": superseded,
        "max": max,
    }
