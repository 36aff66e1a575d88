"""A host's state in this process: a fold over its journal, which all processes share."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from neap import fork
from neap.call import new_id
from neap.client import Neap
from neap.hosts.journal import Journal

Change = dict[str, Any]


class Fold(ABC):
    """Truth is the journal: every reading follows it first, every writing appends to it first. For any thread."""

    def __init__(self, neap: Neap, host: str, name: str) -> None:
        self.neap = neap
        self._journal = Journal(neap, host, name)
        self._reading = threading.RLock()
        fork.clients.add(self)

    @property
    def session(self) -> str:
        """The session that has it."""
        with self._reading:
            return self._journal.session

    @abstractmethod
    def reset(self) -> None:
        """To the state before the first change."""

    @abstractmethod
    def apply(self, change: Change) -> Any:
        """Follows one change; decides nothing that another process could decide otherwise. It must not fail."""

    def follow(self, until: str | None = None) -> Any:
        """Applies what is new; what the change with the id `until` gave."""
        result = None
        with self._reading:
            for text in self._journal.news():
                if text is None:
                    self.reset()
                    continue
                change = json.loads(text)
                given = self.apply(change)
                if until is not None and change.get("id") == until:
                    result = given
        return result

    @contextmanager
    def reading(self) -> Generator[None, None, None]:
        """The state does not change meanwhile, and has what all processes wrote before."""
        with self._reading:
            self.follow()
            yield

    def write(self, change: Change) -> None:
        """Durable when this returns; in the state at the next reading."""
        with self._reading:
            self._journal.append(json_text(change))

    def write_and_follow(self, change: Change) -> Any:
        """What the change gave, in the order in which the store has it."""
        name = new_id()
        with self._reading:
            self.write({**change, "id": name})
            return self.follow(name)

    def erase(self) -> None:
        with self._reading:
            self._journal.erase()
            self.follow()

    def after_fork(self) -> None:
        """In the child: another thread may have been in the middle of a change, so that it begins anew."""
        self._reading = threading.RLock()
        self._journal.begin_anew()
        self.reset()


def json_text(value: object) -> str:
    """As short as it can be; halves of characters, which no request may have, as escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text
