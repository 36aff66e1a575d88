"""CrewAI: the records of a memory and their vectors, in memory, as its journal gives them."""

import base64
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.types import MemoryRecord

from neap.client import Neap
from neap.hosts.fold import Change, Fold

Vector = npt.NDArray[np.float64]
Criterion = Callable[[MemoryRecord], bool]


class Records(Fold):
    def __init__(self, neap: Neap, name: str) -> None:
        super().__init__(neap, "crewai-memory", name)
        self.reset()

    def reset(self) -> None:
        self._records: dict[str, MemoryRecord] = {}
        self._vectors: dict[str, Vector] = {}
        self._dimensions = 0
        """Of the first vector; none has others."""

    def apply(self, change: Change) -> int:
        """How many records it concerned."""
        match change["op"]:
            case "save":
                for stored in change["records"]:
                    self._put(loaded(stored))
            case "delete":
                for name in change["ids"]:
                    self._vectors.pop(name, None)
                return sum(self._records.pop(name, None) is not None for name in change["ids"])
            case "touch":
                for name in change["ids"]:
                    if name in self._records:
                        self._records[name].last_accessed = datetime.fromisoformat(change["at"])
            case _:
                pass  # Of a later version.
        return 0

    def save(self, records: Sequence[MemoryRecord]) -> None:
        with self.reading():
            expected = self._dimensions
            for record in records:
                expected = expected or len(record.embedding or [])
                check(expected, record.embedding)
            self.write({"op": "save", "records": [dumped(record) for record in records]})

    def delete(self, criteria: Sequence[Criterion]) -> int:
        with self.reading():
            names = [record.id for record in self._matching(criteria)]
            return self.write_and_follow({"op": "delete", "ids": names}) if names else 0

    def matching(self, criteria: Sequence[Criterion]) -> list[MemoryRecord]:
        """Not copies: what is handed out must be copied."""
        with self.reading():
            return list(self._matching(criteria))

    def nearest(self, query: list[float], criteria: Sequence[Criterion]) -> list[tuple[MemoryRecord, float]]:
        """With the cosine of each, best first; 0 without a vector. Not copies, either."""
        with self.reading():
            check(self._dimensions, query)
            found = list(self._matching(criteria))
            nothing = np.zeros(len(query))
            scores = cosines([self._vectors.get(record.id, nothing) for record in found], query)
            order = sorted(range(len(found)), key=lambda place: -scores[place])
            return [(found[place], scores[place]) for place in order]

    def _put(self, record: MemoryRecord) -> None:
        self._records[record.id] = record
        self._vectors.pop(record.id, None)
        self._dimensions = self._dimensions or len(record.embedding or [])
        # Two processes may have begun with vectors of two sizes at once: those of the second one are not searched.
        if record.embedding and len(record.embedding) == self._dimensions:
            self._vectors[record.id] = np.asarray(record.embedding)

    def _matching(self, criteria: Sequence[Criterion]) -> Iterator[MemoryRecord]:
        return (record for record in self._records.values() if all(fits(record) for fits in criteria))


def check(dimensions: int, vector: Sequence[float] | None) -> None:
    if dimensions and vector and len(vector) != dimensions:
        raise EmbeddingDimensionMismatchError(dimensions, len(vector))


def cosines(vectors: Sequence[Vector], query: Sequence[float]) -> list[float]:
    if not vectors or not query:
        return [0.0] * len(vectors)
    rows, wanted = np.stack(vectors), np.asarray(query)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(wanted)
    return [float(one) for one in rows @ wanted / np.where(lengths == 0, 1, lengths)]


def dumped(record: MemoryRecord) -> Change:
    """As JSON; its vector, which CrewAI leaves out there, as the bytes of its numbers."""
    vector = np.asarray(record.embedding or [], dtype="<f8").tobytes()
    return {**record.model_dump(mode="json"), "embedding": base64.b64encode(vector).decode("ascii")}


def loaded(stored: Change) -> MemoryRecord:
    vector: list[float] = np.frombuffer(base64.b64decode(stored["embedding"]), dtype="<f8").tolist()
    return MemoryRecord.model_validate({**stored, "embedding": vector or None})


def copied(record: MemoryRecord) -> MemoryRecord:
    return record.model_copy(deep=True)


def in_scope(prefix: str | None) -> Criterion:
    """In the scope or below it."""
    path = absolute(prefix)
    return lambda record: path == "/" or f"{absolute(record.scope)}/".startswith(f"{path}/")


def absolute(scope: str | None) -> str:
    return "/" + (scope or "").strip("/")


def in_categories(categories: Sequence[str] | None) -> Criterion:
    """In one of them."""
    return lambda record: not categories or any(one in record.categories for one in categories)


def with_metadata(wanted: dict[str, Any] | None) -> Criterion:
    return lambda record: all(record.metadata.get(key) == value for key, value in (wanted or {}).items())


def before(time: datetime | None) -> Criterion:
    return lambda record: time is None or moment(record.created_at) < moment(time)


def moment(time: datetime) -> datetime:
    """CrewAI's times are in UTC, most without saying so."""
    return time.astimezone(timezone.utc) if time.tzinfo else time.replace(tzinfo=timezone.utc)
