"""Types into `neap chat` on a pseudo-terminal and prints what was seen, as JSON. Run by terminal.rs."""

import json, os, pty, select, signal, sys, time

pid, screen = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "chat"])

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
TAKEN = b"\x1b[?2004l"  # The line editor gives the terminal back: what was typed is being answered.


def type_line(words):
    """Types at the prompt, and says where on the screen the answer begins."""
    start = len(seen)
    os.write(screen, words)
    wait_for(TAKEN, start)
    return start


told = {"prompt": wait_for(PROMPT, 0)}
at = type_line(b"login keeps failing on the mobile app\r")
# Ctrl-C must not end the program during the first reply either.
os.kill(pid, signal.SIGINT)
told["first_turn"] = wait_for(b"turn 1 ", at) and wait_for(PROMPT, at)
# Signals at many moments of many replies.
for turn in range(2, 14):
    at = type_line(b"detail %d of the login problem\r" % turn)
    for _ in range(turn % 5):
        os.kill(pid, signal.SIGINT)
        time.sleep(0.001)
    told["turn_%d" % turn] = wait_for(b"turn %d " % turn, at) and wait_for(PROMPT, seen.index(b"turn %d " % turn))
# A line that is begun and given up.
at = len(seen)
os.write(screen, b"half a sente")
told["echo"] = wait_for(b"half a sente", at)
at = type_line(b"\x03")
told["given_up"] = wait_for(PROMPT, at)
at = type_line(b"what are we working on?\r")
told["alive"] = wait_for(b"turn 14 ", at) and wait_for(PROMPT, seen.index(b"turn 14 "))
os.write(screen, b"\x04")
wait_for(b"never printed", 0)
_, status = os.waitpid(pid, 0)
told["exit"] = os.waitstatus_to_exitcode(status)
told["seen"] = seen.decode("utf-8", "replace")
print(json.dumps(told))
