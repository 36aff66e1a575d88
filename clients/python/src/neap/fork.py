"""A forked child has copies of its parent's connections and locks, which it must not use: clients make their own."""

import os
import weakref
from typing import Protocol


class Client(Protocol):
    def after_fork(self) -> None: ...


class Clients:
    def __init__(self) -> None:
        self._all: weakref.WeakSet[Client] = weakref.WeakSet()
        self._is_registered = False

    def add(self, client: Client) -> None:
        if not self._is_registered and hasattr(os, "register_at_fork"):
            self._is_registered = True
            os.register_at_fork(after_in_child=self._after_fork)
        self._all.add(client)

    def _after_fork(self) -> None:
        for client in list(self._all):
            client.after_fork()


clients = Clients()
