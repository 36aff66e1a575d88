"""Answers the offer of `neap chat` to import, asks what was done last week, and prints what was seen, as JSON. Run by
import_offer.rs."""

import json, sys

sys.dont_write_bytecode = True
from screen import PROMPT, Screen

OFFER = b"[Y/n] "
answer = sys.argv[2].encode()
chat = Screen([sys.argv[1], "chat"])
chat.wait_for_any([OFFER, PROMPT], 0)
told = {"offered": OFFER in chat.seen}
at = chat.type(answer + b"\r") if told["offered"] else 0
told["prompt"] = chat.wait_for(PROMPT, at)
at = chat.type_line(b"what did I work on last week?\r")
told["answered"] = chat.wait_for_prompt_after(b"turn 1 ", at)
told["first"] = chat.end()
again = Screen([sys.argv[1], "chat"])
again.wait_for(PROMPT, 0)
told["second"] = again.end()
print(json.dumps(told))
