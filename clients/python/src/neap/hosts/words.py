"""The words of a host's items, recorded in the session of its journal, where search and context pages find them."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from neap.errors import Conflict, NeapError, NotFound
from neap.forms import Author, NewMessagesMessages
from neap.hosts.fold import Change, Fold
from neap.hosts.parts import grouped

LOG = logging.getLogger("neap")
RECORD = "record"
WORDS_CHARS_MAX = 400_000


class Words:
    """Part of a fold whose items are numbered. Of several processes, the one that claims items records their words."""

    def __init__(self, fold: Fold, author: Author) -> None:
        self._fold = fold
        self._author: Author = author
        self._is_opened = False
        self.reset()

    def reset(self) -> None:
        self._end = 0
        self._claim: tuple[int, int] | None = None

    def apply(self, change: Change) -> Any:
        """The fold's change, if it is one of these."""
        if change["op"] != RECORD or change["to"] <= self._end:
            return None
        self._claim = (self._end, change["to"])
        self._end = change["to"]
        return self._claim

    def record(self, end: int, messages: Callable[[int, int], list[NewMessagesMessages]]) -> None:
        """The words of all items before `end` that are not recorded yet; `messages` gives those of a range."""
        if not self._is_opened:
            # The process that claimed the last ones may have ended before it recorded them.
            self._is_opened = True
            self._send(self._claim, messages)
        if end > self._end:
            self._send(self._fold.write_and_follow({"op": RECORD, "to": end}), messages)

    def _send(
        self, claim: tuple[int, int] | None, messages: Callable[[int, int], list[NewMessagesMessages]]
    ) -> None:
        if claim is None:
            return
        first, end = claim
        record_words(self._fold, messages(first, end), self._author, f"words-{first}-{end}")


def record_words(fold: Fold, messages: Iterable[NewMessagesMessages], author: Author, key: str) -> None:
    """Once for a key. The host's items are stored already, so that it must not fail: it says what it could not do."""
    for number, part in enumerate(grouped(sendable(message) for message in messages)):
        try:
            fold.neap.append_messages(fold.session, part, author=author, key=f"{key}-{number}")
        except (Conflict, NotFound):
            # Recorded before some of the items were taken back, or erased since.
            return
        except NeapError as error:
            LOG.warning("words of %s are not recorded, so that no search finds them: %s", fold.session, error)
            return


def sendable(message: NewMessagesMessages) -> NewMessagesMessages:
    """A very long text is cut, and halves of characters are replaced; the item itself has everything."""
    text = message["content"][:WORDS_CHARS_MAX].encode("utf-8", "replace").decode()
    return {**message, "content": text}
