"""A host's own records, as texts in one order for all processes, in a session of Neap."""

from collections.abc import Iterator

from neap.client import Neap
from neap.errors import NotFound
from neap.hosts.names import session_name
from neap.hosts.parts import Joiner, requests_of


class Journal:
    """Not for several threads at once.

    An erased session's name is not used again: after an erasure the journal goes on in a session with the next number.
    """

    def __init__(self, neap: Neap, host: str, name: str) -> None:
        self._neap = neap
        self._base = session_name(host, name)
        self._number = 0
        self._joiner = Joiner()
        self._seq = 0
        self._was_erased = False

    @property
    def session(self) -> str:
        """The session that has it now."""
        if self._number == 0:
            self._number = self._current_number()
        return self._name(self._number)

    def append(self, text: str) -> None:
        """It is stored as a whole or, if the process ends, not at all."""
        try:
            self._append(text)
        except NotFound:
            self._follow_erasure()
            self._append(text)

    def news(self) -> Iterator[str | None]:
        """What was stored since the last call; None where everything before was erased."""
        try:
            if not self._was_erased:
                yield from self._read()
        except NotFound:
            self._follow_erasure()
        if self._was_erased:
            self._was_erased = False
            yield None
            yield from self._read_if_begun()

    def begin_anew(self) -> None:
        """The next news are everything."""
        self._seq, self._joiner, self._was_erased = 0, Joiner(), False

    def erase(self) -> None:
        """Erases it for good, the words in its session too."""
        try:
            self._neap.erase_session(self.session, confirm=self.session)
        except NotFound:
            pass

    def _append(self, text: str) -> None:
        for entries in requests_of(text):
            self._neap.append_entries(self.session, entries)

    def _read_if_begun(self) -> Iterator[str]:
        try:
            yield from self._read()
        except NotFound:
            pass

    def _read(self) -> Iterator[str]:
        for line in self._neap.read_entries(self.session, after=self._seq):
            self._seq = line["seq"]
            for entry in line["entries"]:
                text = self._joiner.add(entry)
                if text is not None:
                    yield text

    def _follow_erasure(self) -> None:
        """Goes on in the next session, if the one before was erased."""
        number = self._current_number()
        if number != self._number:
            self._number, self._seq, self._joiner = number, 0, Joiner()
            self._was_erased = True

    def _current_number(self) -> int:
        rows = list(self._neap.each(self._neap.list_sessions, q=self._base, erased=True, limit=200))
        states = {row["session"]: row["scrubbed"] for row in rows}
        number = 1
        while states.get(self._name(number)):
            number += 1
        return number

    def _name(self, number: int) -> str:
        return self._base if number == 1 else f"{self._base}-{number}"
