"""Whether a call that failed is made again. Only what may be repeated is, a bounded number of times."""

from typing import Any, TypeVar

import httpx

from neap.call import Call, Download
from neap.errors import ServerUnavailable, StoreBusy
from neap.server import Address, Server

Form = TypeVar("Form")
PAUSES = (0.02, 0.1, 0.4)
"""Seconds before each further try."""
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Tries:
    def __init__(self, call: Call[Any], server: Server) -> None:
        self._call = call
        self._server = server
        self._made = 0
        self._address: Address | None = None
        self._restarts = 0
        self._is_sent = False

    def begin(self, address: Address) -> None:
        """Before each try. Refuses a server that was started twice for one call: it would end again."""
        self._is_sent = False
        if self._address is not None and address is not self._address:
            self._restarts += 1
        if self._restarts > 1:
            raise ServerUnavailable(
                "the server was started again, and ended again", "run `neap store doctor` on its data folder"
            )
        self._address = address

    def send(self) -> None:
        """From now on the call may arrive."""
        self._is_sent = True

    def after_answer(self, status: int) -> float | None:
        """The pause before the next try; None if the answer stands."""
        if status == StoreBusy.STATUS and self._call.can_repeat:
            return self._pause()
        return None

    def after_failure(self, error: httpx.TransportError) -> float:
        """The pause before the next try, which there must be."""
        never_sent = not self._is_sent or isinstance(error, NEVER_SENT)
        if self._address is not None and is_refused(error):
            self._server.gave_up(self._address)
        is_late = isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout)
        may_repeat = (never_sent or self._call.can_repeat) and not is_late
        pause = self._pause() if may_repeat else None
        if pause is None:
            raise self._unavailable(error, never_sent) from error
        return pause

    def after_end(self) -> float:
        """The pause before events are asked for again, which the server ended."""
        pause = self._pause()
        if pause is None:
            raise ServerUnavailable("the server ends its events again and again", "look at what the server logs")
        return pause

    def after_item(self, download: Download[Form], item: Form) -> Download[Form]:
        """How to go on behind an item, should the answer break off."""
        came: Any = item
        if not (download.is_endless and came["event"] == "open"):
            self._made = self._restarts = 0
        self._call = download.after(item)
        return self._call

    def _pause(self) -> float | None:
        if self._made == len(PAUSES):
            return None
        self._made += 1
        return PAUSES[self._made - 1]

    def _unavailable(self, error: httpx.TransportError, never_sent: bool) -> ServerUnavailable:
        api = "the server" if self._address is None else self._address.api
        what = str(error) or type(error).__name__
        if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
            return ServerUnavailable(f"{api} did not answer in time ({what})", "allow more with timeout=SECONDS")
        if never_sent or self._call.can_repeat:
            return ServerUnavailable(f"cannot reach {api}: {what}", "check that the server runs, and base_url")
        hint = "the change may have been made or not: look, then make it again if need be"
        if self._call.method == "GET":
            hint = "what came is incomplete: ask again"
        return ServerUnavailable(f"{api} broke off before its answer was whole: {what}", hint)


def is_refused(error: BaseException | None) -> bool:
    """Whether nothing listens there, as opposed to a connection that fails on this side."""
    while error is not None and not isinstance(error, ConnectionRefusedError):
        error = error.__cause__ or error.__context__
    return error is not None
