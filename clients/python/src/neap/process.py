"""The process of an embedded server. It ends with this one, however that ends: it waits for its input to close."""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neap.errors import NeapError, ServerUnavailable, VersionMismatch

START_SECONDS_MAX = 30.0
END_SECONDS_MAX = 10.0
ARGUMENTS = ("ui", "--listen=127.0.0.1:0", "--no-open", "--until-stdin-closes", "--json")
LOG_CHARS_MAX = 500


class ServerProcess:
    def __init__(self, program: str, options: Sequence[str]) -> None:
        self._owner = os.getpid()
        # A pipe would fill up when nobody reads it.
        self._log = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                [program, *options, *ARGUMENTS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                # Ctrl-C is this process's to handle.
                start_new_session=True,
            )
        except OSError as error:
            self._log.close()
            raise ServerUnavailable(f"cannot start {program}: {error}", "check that it is Neap's program") from error
        try:
            said: Any = json.loads(self._first_line())
            self.api: str = said["api"]
            self._key_file: str = said["token_file"]
        except (ValueError, LookupError, TypeError) as error:
            self._process.kill()
            self._process.wait()
            refusal = self._start_error()
            self.end()
            raise refusal from error

    def read_key(self) -> str:
        return Path(self._key_file).read_text(encoding="ascii").strip()

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> None:
        """Ends it once the requests in flight are answered."""
        if os.getpid() != self._owner:
            return
        self._close()
        try:
            self._process.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def let_go(self) -> None:
        """In a forked child: its copy of the pipe would keep the server running after the parent."""
        self._close()
        self._process.returncode = 0

    def _close(self) -> None:
        self._log.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _first_line(self) -> bytes:
        assert self._process.stdout is not None
        timer = threading.Timer(START_SECONDS_MAX, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            return self._process.stdout.readline()
        finally:
            timer.cancel()

    def _start_error(self) -> NeapError:
        self._log.seek(0)
        log = self._log.read().decode(errors="replace").strip()
        if "--until-stdin-closes" in log:
            return VersionMismatch(
                "the program is older than this package", "update the program, or name another: Neap(program=...)"
            )
        ended = f"the server ended before it was ready (exit status {self._process.returncode})"
        return ServerUnavailable(f"{ended}: {log[-LOG_CHARS_MAX:]}", "run `neap ui` by hand to see what it says")
