"""Names of sessions for what hosts call by names of their own, which may be any text."""

import hashlib
import re

READABLE_CHARS_MAX = 24
DIGEST_CHARS = 16


def session_name(host: str, name: str) -> str:
    """One session for each name of a host: two names never share one."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower())[:READABLE_CHARS_MAX].strip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]
    return "-".join(part for part in (host, readable, digest) if part)
