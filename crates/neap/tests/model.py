"""Types into `neap chat --model …` on a pseudo-terminal and prints what was seen, as JSON. Run by models.rs."""

import json, os, pty, select, signal, sys, time

pid, screen = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])

seen = b""


def wait_for(words, start, seconds=30):
    """Reads until the words have come after a place, or time is up."""
    global seen
    end = time.monotonic() + seconds
    while words not in seen[start:]:
        left = end - time.monotonic()
        if left <= 0 or not select.select([screen], [], [], left)[0]:
            return False
        try:
            read = os.read(screen, 65536)
        except OSError:
            read = b""
        if not read:
            return False
        seen += read
    return True


PROMPT = "› ".encode()

told = {"prompt": wait_for(PROMPT, 0)}
at = len(seen)
os.write(screen, b"tell me a long story\r")
# The model falls silent in the middle: Ctrl-C hangs up.
told["half"] = wait_for(b"Once upon", at)
os.kill(pid, signal.SIGINT)
told["interrupted"] = wait_for(b"[interrupted]", at) and wait_for(PROMPT, at + seen[at:].index(b"[interrupted]"))
at = len(seen)
os.write(screen, b"a short one then\r")
told["whole"] = wait_for(b"The end.", at) and wait_for(b"turn 2 ", at) and wait_for(PROMPT, at + seen[at:].index(b"turn 2 "))
os.write(screen, b"\x04")
wait_for(b"never printed", 0)
_, status = os.waitpid(pid, 0)
told["exit"] = os.waitstatus_to_exitcode(status)
told["seen"] = seen.decode("utf-8", "replace")
print(json.dumps(told))
