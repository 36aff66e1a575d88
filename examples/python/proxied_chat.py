"""A chat with the OpenAI SDK that keeps its whole history itself, behind Neap's proxy, which sends at most 8000 tokens of it.

pip install neap openai; OPENAI_API_KEY=... neap run --budget 8000 -- python proxied_chat.py
"""

import sys

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam


def main() -> None:
    client = OpenAI()  # `neap run` sets OPENAI_BASE_URL.
    history: list[ChatCompletionMessageParam] = []
    for line in sys.stdin:
        if line.strip():
            history.append({"role": "user", "content": line.strip()})
            reply = client.chat.completions.create(model="gpt-5.5-mini", messages=history)
            text = reply.choices[0].message.content or ""
            history.append({"role": "assistant", "content": text})
            print(text, flush=True)


main()
