"""Connections to a server, below `httpx.Client`: the API needs no cookies and redirects, and a call is faster."""

from typing import Any, TypedDict
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from neap.call import Call
from neap.server import Address
from neap.version import VERSION

TIMEOUT_SECONDS = 60.0
CONNECTIONS_MAX = 8
"""The server writes one thing at a time: more at once make each other wait, and the last ones long."""
SILENCE_SECONDS_MAX = 45.0
"""Between two parts of an answer that comes in lines; events have a comment every 15 seconds."""


class TransportOptions(TypedDict):
    verify: bool
    trust_env: bool
    limits: httpx.Limits
    proxy: httpx.Proxy | None


def transport_options(address: Address) -> TransportOptions:
    parts = urlsplit(address.api)
    # To load the certificates takes longer than to start a server.
    verify = parts.scheme == "https"
    proxy = None
    if not address.is_local and not proxy_bypass(parts.hostname or ""):
        proxy = getproxies().get(parts.scheme)
    return TransportOptions(
        verify=verify,
        trust_env=verify,
        limits=httpx.Limits(
            max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX, keepalive_expiry=20
        ),
        proxy=None if proxy is None else httpx.Proxy(proxy),
    )


def request_of(call: Call[Any], address: Address, timeout: httpx.Timeout) -> httpx.Request:
    headers = [("Authorization", f"Bearer {address.key}"), ("User-Agent", f"neap-python/{VERSION}"), *call.headers]
    if call.content is not None:
        headers.append(("Content-Type", "application/json"))
    extensions = {"timeout": timeout.as_dict()}
    return httpx.Request(
        call.method, address.api + call.path, headers=headers, content=call.content, extensions=extensions
    )


def call_timeout(seconds: float) -> httpx.Timeout:
    # A call that waits for its connection is not late: others are before it.
    return httpx.Timeout(seconds, pool=None)


def lines_timeout(seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, pool=None, read=SILENCE_SECONDS_MAX)
