"""The version of this package, which is that of the program in its wheel."""

import json
from typing import Any

from neap.call import error_of
from neap.errors import VersionMismatch

VERSION = "0.1.0"


def check_version(status: int, content: bytes) -> None:
    """Refuses a server whose API may differ, by its answer to GET /health.

    Versions are compatible while their first two numbers agree.
    """
    try:
        health: Any = json.loads(content)
        served = str(health["version"])
    except (ValueError, LookupError, TypeError) as error:
        refusal = error_of(status, content)
        if refusal.code == "unknown":
            raise VersionMismatch("what answers there is no Neap server", "check base_url") from error
        raise refusal from error
    if served.split(".")[:2] != VERSION.split(".")[:2]:
        raise VersionMismatch(
            f"the server is Neap {served}, this package is made for {VERSION}",
            f"install the package of the server (pip install neap=={served}), or update the server",
        )
