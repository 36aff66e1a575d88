"""A process that is run to its end, with what it took."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass


@dataclass
class Ended:
    """What it printed, how long it ran, and the most memory it held."""

    printed: str
    wall_s: float
    memory_bytes: int


def run(command, **environment):
    launched = time.time()
    child = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LAUNCHED": str(launched), **environment},
    )
    printed, complaints = drain(child)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(str(part) for part in command)} failed:\n{complaints}")
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return Ended(printed, time.time() - launched, usage.ru_maxrss * unit)


def drain(child):
    """Both outputs, read side by side so that neither fills up; the child is not waited for."""
    complaints = []
    reader = threading.Thread(target=lambda: complaints.append(child.stderr.read()))
    reader.start()
    printed = child.stdout.read()
    reader.join()
    return printed, complaints[0]
