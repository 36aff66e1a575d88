"""Facts that outlast conversations: a line that ends with a question mark is asked, any other is kept.

pip install neap; python memories.py
"""

import sys

from neap import Neap


def main() -> None:
    with Neap() as neap:
        for line in map(str.strip, sys.stdin):
            if line.endswith("?"):
                for memory in neap.recall(line)["items"][:3]:
                    print(memory["content"], flush=True)
            elif line:
                neap.remember(line)


main()
