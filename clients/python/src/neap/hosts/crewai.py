"""CrewAI: a storage for its `Memory`. CrewAI embeds and judges what it remembers; its records are kept in Neap."""

import asyncio
from collections import Counter
from datetime import datetime, timezone
from typing import Any

from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord, ScopeInfo

from neap.call import new_id
from neap.client import Neap
from neap.forms import Author, NewMessagesMessages
from neap.hosts.crewai_records import (
    Criterion,
    Records,
    absolute,
    before,
    copied,
    in_categories,
    in_scope,
    moment,
    with_metadata,
)
from neap.hosts.words import record_words


class NeapStorage(StorageBackend):
    """For `Memory(storage=NeapStorage(neap))`: the same records for all processes, searched by their vectors.

    The words of records that are not private are found by Neap's search, too. What is deleted or replaced is out of
    the storage; only `reset` without a scope takes its bytes. `author` is who wrote what is remembered.
    """

    def __init__(self, neap: Neap, name: str = "default", *, author: Author = "model") -> None:
        self._records = Records(neap, name)
        self._author: Author = author

    def __deepcopy__(self, memo: dict[int, Any]) -> "NeapStorage":
        """A copy of a memory has the same records."""
        return self

    def save(self, records: list[MemoryRecord]) -> None:
        if records:
            self._records.save(records)
            said: list[NewMessagesMessages] = [
                {"role": "user", "content": record.content}
                for record in records
                if record.content.strip() and not record.private
            ]
            record_words(self._records, said, self._author, new_id())

    def update(self, record: MemoryRecord) -> None:
        self.save([record])

    def touch_records(self, record_ids: list[str]) -> None:
        """Says that they were used now."""
        if record_ids:
            now = datetime.now(timezone.utc).replace(tzinfo=None)
            self._records.write({"op": "touch", "ids": record_ids, "at": now.isoformat()})

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Scores are cosines."""
        criteria = [in_scope(scope_prefix), in_categories(categories), with_metadata(metadata_filter)]
        found = self._records.nearest(query_embedding, criteria)
        best = [one for one in found if one[1] >= min_score][: max(limit, 0)]
        return [(copied(record), score) for record, score in best]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """What fits all that is given."""
        names = None if record_ids is None else set(record_ids)
        criteria: list[Criterion] = [
            lambda record: names is None or record.id in names,
            in_scope(scope_prefix),
            in_categories(categories),
            before(older_than),
            with_metadata(metadata_filter),
        ]
        return self._records.delete(criteria)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        return next(map(copied, self._records.matching([lambda record: record.id == record_id])), None)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        if limit <= 0 or offset < 0:
            return []
        every = self._records.matching([in_scope(scope_prefix)])
        newest_first = sorted(every, key=lambda record: moment(record.created_at), reverse=True)
        return [copied(record) for record in newest_first[offset : offset + limit]]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        every = self._records.matching([in_scope(scope)])
        created = sorted((record.created_at for record in every), key=moment)
        return ScopeInfo(
            path=absolute(scope),
            record_count=len(every),
            categories=sorted({one for record in every for one in record.categories}),
            oldest_record=created[0] if created else None,
            newest_record=created[-1] if created else None,
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        path = absolute(parent).rstrip("/") + "/"
        below = {absolute(record.scope) for record in self._records.matching([in_scope(parent)])}
        return sorted({path + one.removeprefix(path).split("/")[0] for one in below if len(one) > len(path)})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        every = self._records.matching([in_scope(scope_prefix)])
        return dict(Counter(one for record in every for one in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        return len(self._records.matching([in_scope(scope_prefix)]))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Without a scope it erases everything for good."""
        if absolute(scope_prefix) == "/":
            self._records.erase()
        else:
            self.delete(scope_prefix)

    async def asave(self, records: list[MemoryRecord]) -> None:
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        return await asyncio.to_thread(
            self.search, query_embedding, scope_prefix, categories, metadata_filter, limit, min_score
        )

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        return await asyncio.to_thread(
            self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter
        )
