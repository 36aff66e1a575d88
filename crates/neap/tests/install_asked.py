"""Runs a command on a terminal, answers its questions in turn, and prints what was seen. Run by install.rs.

    install_asked.py ANSWER[,ANSWER...] COMMAND...
"""

import os, pty, sys

answers = [answer.encode() + b"\n" for answer in sys.argv[1].split(",")]
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen, asked = b"", 0
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    seen += part
    # A question is the end of what was printed; its answer is echoed behind it.
    if answers and seen[asked:].endswith((b"[N]o: ", b"[y/N] ")):
        asked = len(seen)
        os.write(terminal, answers.pop(0))
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
