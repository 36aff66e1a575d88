"""Finds the program `neap`."""

import os
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from neap.errors import ProgramMissing

NAME = "neap.exe" if os.name == "nt" else "neap"


def find_program(given: str | os.PathLike[str] | None = None) -> str:
    """The one that is given, that of NEAP_BIN, that of this package's wheel, or the one on the path."""
    named = given or os.environ.get("NEAP_BIN")
    if named:
        found = shutil.which(named)
        if found is None:
            where = "program" if given else "NEAP_BIN"
            raise ProgramMissing(
                f"there is no program at {os.fspath(named)}",
                f"{where} must be the path of the program neap, which must be executable",
            )
        return found
    for folder in script_folders():
        if (folder / NAME).is_file():
            return str(folder / NAME)
    found = shutil.which(NAME)
    if found is None:
        raise ProgramMissing(
            "the program neap is neither in this package nor on the path",
            "install a wheel that has it (pip install neap), or name it: Neap(program=...) or NEAP_BIN",
        )
    return found


def script_folders() -> Iterator[Path]:
    """Where pip puts programs of wheels."""
    yield Path(sysconfig.get_path("scripts"))
    user = sysconfig.get_preferred_scheme("user")
    if user in sysconfig.get_scheme_names():
        yield Path(sysconfig.get_path("scripts", user))
