"""Types into `neap chat` on a pseudo-terminal and prints what was seen, as JSON. Run by terminal.rs."""

import json, sys, time

sys.dont_write_bytecode = True
from screen import PROMPT, Screen

chat = Screen([sys.argv[1], "chat"])
told = {"prompt": chat.wait_for(PROMPT, 0)}
at = chat.type_line(b"login keeps failing on the mobile app\r")
# Ctrl-C must not end the program during the first reply either.
chat.interrupt()
told["first_turn"] = chat.wait_for_prompt_after(b"turn 1 ", at)
# Signals at many moments of many replies.
for turn in range(2, 14):
    at = chat.type_line(b"detail %d of the login problem\r" % turn)
    for _ in range(turn % 5):
        chat.interrupt()
        time.sleep(0.001)
    told["turn_%d" % turn] = chat.wait_for_prompt_after(b"turn %d " % turn, at)
# A line that is begun and given up.
at = chat.type(b"half a sente")
told["echo"] = chat.wait_for(b"half a sente", at)
at = chat.type_line(b"\x03")
told["given_up"] = chat.wait_for(PROMPT, at)
at = chat.type_line(b"what are we working on?\r")
told["alive"] = chat.wait_for_prompt_after(b"turn 14 ", at)
told.update(chat.end())
print(json.dumps(told))
