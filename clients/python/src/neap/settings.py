"""Which server a client's arguments name."""

import os

from neap.errors import NeapError
from neap.server import EmbeddedServer, RemoteServer, Server


def server_of(
    program: str | os.PathLike[str] | None,
    data_dir: str | os.PathLike[str] | None,
    agent: str | None,
    base_url: str | None,
    key: str | None,
) -> Server:
    if base_url is None and key is None:
        return EmbeddedServer(program, data_dir, agent)
    if base_url is None or key is None:
        raise NeapError(
            "base_url and key belong together",
            "the key is the text of keys/api.token in the server's data folder",
        )
    if program is not None or data_dir is not None or agent is not None:
        raise NeapError(
            "base_url names a server that runs, but program, data_dir and agent are for one to start",
            "give the one or the other",
        )
    return RemoteServer(base_url, key)
