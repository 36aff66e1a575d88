"""Types into `neap chat --model …` on a pseudo-terminal and prints what was seen, as JSON. Run by models.rs."""

import json, sys

sys.dont_write_bytecode = True
from screen import PROMPT, Screen

chat = Screen(sys.argv[1:])
told = {"prompt": chat.wait_for(PROMPT, 0)}
at = chat.type(b"tell me a long story\r")
# The model falls silent in the middle: Ctrl-C hangs up.
told["half"] = chat.wait_for(b"Once upon", at)
chat.interrupt()
told["interrupted"] = chat.wait_for_prompt_after(b"[interrupted]", at)
at = chat.type(b"a short one then\r")
told["whole"] = chat.wait_for(b"The end.", at) and chat.wait_for_prompt_after(b"turn 2 ", at)
told.update(chat.end())
print(json.dumps(told))
