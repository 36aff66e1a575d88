"""Neap: an LLM agent's context, bounded; its past, within reach."""

from neap.async_client import AsyncNeap
from neap.client import Neap
from neap.errors import (
    ApiError,
    Conflict,
    Malformed,
    NeapError,
    NotAllowed,
    NotFound,
    ProgramMissing,
    Refused,
    ServerUnavailable,
    StoreBusy,
    VersionMismatch,
)
from neap.live import LiveEvent
from neap.version import VERSION as __version__

__all__ = [
    "ApiError",
    "AsyncNeap",
    "Conflict",
    "LiveEvent",
    "Malformed",
    "Neap",
    "NeapError",
    "NotAllowed",
    "NotFound",
    "ProgramMissing",
    "Refused",
    "ServerUnavailable",
    "StoreBusy",
    "VersionMismatch",
    "__version__",
]
