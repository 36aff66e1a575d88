"""Changes of memories."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from neap.call import Call, delete, part, patch, post, post_once
from neap.calls.memories import of
from neap.forms import (
    Author,
    ErasedMemory,
    Imported,
    MemoryChange,
    MemoryEdit,
    MemoryOutcome,
    NewBody,
    RolledBack,
)

MemoryAction = Literal["undo", "confirm", "core", "wrong", "retire", "false-positive"]
ReviewOutcome = Literal["pending", "success", "partial", "failure"]


def remember(
    body: NewBody | str,
    *,
    tags: Sequence[str] | None = None,
    project: str | None = None,
    domain: str | None = None,
    pinned: bool | None = None,
    valid_from: int | None = None,
    valid_until: int | None = None,
    force: bool | None = None,
    key: str | None = None,
) -> Call[MemoryOutcome]:
    """Remember something; a text alone is a fact.

    The same `key` again changes nothing. Without it, the client makes one up.
    """
    draft = {
        "body": {"kind": "fact", "content": body} if isinstance(body, str) else body,
        "tags": None if tags is None else list(tags),
        "project": project,
        "domain": domain,
        "pinned": pinned,
        "valid_from": valid_from,
        "valid_until": valid_until,
        "force": force,
    }
    return post_once("/memories", draft, key)


def import_memories(
    memories: Sequence[Mapping[str, Any]], source: str, *, ids: Mapping[str, str] | None = None
) -> Call[Imported]:
    """Take over at most 1000 memories of an export; a further part of it brings the `ids` of the answer before."""
    return post("/memories/import", {"memories": list(memories), "source": source, "ids": ids})


def edit_memory(id: str, edit: MemoryEdit) -> Call[MemoryChange]:
    """Change the fields that `edit` has; None clears one."""
    return patch(of(id), edit)


def erase_memory(id: str, *, confirm: str) -> Call[ErasedMemory]:
    """Erase a memory for good; `confirm` is its id once more."""
    return delete(of(id), confirm=confirm)


def act_on_memory(id: str, action: MemoryAction) -> Call[MemoryChange]:
    """Undo the last change of a memory, confirm it, mark it as core or wrong, retire it, or note a false positive."""
    return post(of(id, f"/{part(action)}"))


def review_memory(id: str, outcome: ReviewOutcome, *, notes: str | None = None) -> Call[MemoryChange]:
    """Note what became of a decision."""
    return post(of(id, "/review"), {"outcome": outcome, "notes": notes})


def roll_back(
    author: Author, *, session: str | None = None, since: int | None = None, confirm: bool | None = None
) -> Call[RolledBack]:
    """What an author wrote, taken out of use if `confirm` is true."""
    return post("/memories/roll-back", {"author": author, "session": session, "since": since, "confirm": confirm})
