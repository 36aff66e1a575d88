"""What can go wrong, by what a caller can do about it."""


class NeapError(Exception):
    """Every error of this package. `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}"


class ProgramMissing(NeapError):
    """There is no program to start."""


class VersionMismatch(NeapError):
    """The server is of another version, or is none of Neap's."""


class ServerUnavailable(NeapError):
    """The server could not be started or reached, or broke off."""


class ApiError(NeapError):
    """The server's answer is an error."""

    def __init__(self, status: int, code: str, detail: str, hint: str) -> None:
        super().__init__(detail, hint)
        # What an exception is copied with, between processes too.
        self.args = (status, code, detail, hint)
        self.status = status
        self.code = code
        self.detail = detail


class Malformed(ApiError):
    """400, 413, 415: the request is not what the route takes."""


class NotAllowed(ApiError):
    """401, 403: the key is wrong, or may not do this."""


class NotFound(ApiError):
    """404: there is no such thing."""


class Conflict(ApiError):
    """409: somebody else was first, or the id was used for something else."""


class Refused(ApiError):
    """422: a rule refuses it."""


class StoreBusy(ApiError):
    """503: the store is busy, or does not answer."""

    STATUS = 503


BY_STATUS: dict[int, type[ApiError]] = {
    400: Malformed,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: Malformed,
    415: Malformed,
    422: Refused,
    StoreBusy.STATUS: StoreBusy,
}
