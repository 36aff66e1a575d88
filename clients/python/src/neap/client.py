"""The client for threads."""

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, ParamSpec, TypeVar

import httpx

from neap import fork
from neap.call import Call, Download
from neap.calls import server as server_calls
from neap.forms import Page
from neap.pool import TIMEOUT_SECONDS, call_timeout, lines_timeout, request_of, transport_options
from neap.routes import Routes
from neap.server import Address
from neap.settings import server_of
from neap.tries import Tries
from neap.version import check_version

P = ParamSpec("P")
Form = TypeVar("Form")


class Neap(Routes):
    """A client of Neap, for any number of threads.

    Without `base_url` it starts a server of its own at the first call, on the program's usual data folder unless
    `data_dir` is given. That server ends with `close`, or with this process. A forked child uses its parent's.
    With `base_url` and `key` it speaks to a server that runs.
    """

    def __init__(
        self,
        *,
        program: str | os.PathLike[str] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        base_url: str | None = None,
        key: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._server = server_of(program, data_dir, agent, base_url, key)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._pool: httpx.HTTPTransport | None = None
        self._checked: Address | None = None
        fork.clients.add(self)

    def __enter__(self) -> "Neap":
        try:
            self.health()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections, and the server if it is this client's own."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
        self._server.close()

    def after_fork(self) -> None:
        self._lock = threading.Lock()
        self._pool = None
        self._server.after_fork()

    def send(self, call: Call[Form]) -> Form:
        """Makes a call of `neap.calls`; each has a method here."""
        tries = Tries(call, self._server)
        while True:
            try:
                status, content = self._send(call, self._address(tries))
                pause = tries.after_answer(status)
                if pause is None:
                    return call.read(status, content)
            except httpx.TransportError as error:
                pause = tries.after_failure(error)
            time.sleep(pause)

    def read(self, download: Download[Form]) -> Generator[Form, None, None]:
        """The items of an answer that comes in lines; events go on until the caller ends them."""
        tries = Tries(download, self._server)
        while True:
            try:
                address = self._address(tries)
                with closing(httpx.HTTPTransport(**transport_options(address))) as own:
                    answer = own.handle_request(request_of(download, address, lines_timeout(self._timeout)))
                    pause = tries.after_answer(answer.status_code)
                    if pause is None:
                        if answer.status_code != 200:
                            download.read(answer.status_code, answer.read())
                        reader = download.reader()
                        for content in answer.iter_raw():
                            for item in reader.feed(content):
                                download = tries.after_item(download, item)
                                yield item
                        if not download.is_endless:
                            return
                        pause = tries.after_end()
            except httpx.TransportError as error:
                pause = tries.after_failure(error)
            time.sleep(pause)

    def each(self, lists: Callable[P, Page[Form]], *args: P.args, **kwargs: P.kwargs) -> Generator[Form, None, None]:
        """All items of a list, page after page: `neap.each(neap.list_turns, "auth")`."""
        page_of: Callable[..., Page[Form]] = lists
        options: dict[str, Any] = dict(kwargs)
        while True:
            page = page_of(*args, **options)
            yield from page["items"]
            if page["next"] is None:
                return
            options["cursor"] = page["next"]

    def _address(self, tries: Tries) -> Address:
        address = self._server.address()
        tries.begin(address)
        if address is not self._checked:
            check_version(*self._send(server_calls.health(), address))
            self._checked = address
        tries.send()
        return address

    def _send(self, call: Call[Any], address: Address) -> tuple[int, bytes]:
        answer = self._transport(address).handle_request(request_of(call, address, call_timeout(self._timeout)))
        return answer.status_code, answer.read()

    def _transport(self, address: Address) -> httpx.HTTPTransport:
        if self._pool is None:
            with self._lock:
                self._pool = self._pool or httpx.HTTPTransport(**transport_options(address))
        return self._pool
