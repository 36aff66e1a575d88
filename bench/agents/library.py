"""A small agent on the OpenAI or Anthropic library: holds the conversation, and runs the one tool that it offers. Lines of JSON come in on
standard input, one for each turn; a line goes out when the turn is over.

    python3 library.py openai|anthropic ADDRESS
"""

import json
import subprocess
import sys

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
SYSTEM = "You are a careful engineer in a small team. You run commands with the tool Bash and report what they say. " * 4


def run(command):
    return subprocess.run(["sh", "-c", command], stdin=-3, stdout=-1, stderr=-2, text=True, errors="replace").stdout


def openai_turn(client, history, line):
    tools = [{"type": "function", "function": {"name": "Bash", "description": "Runs a command.", "parameters": COMMAND}}]
    history.append({"role": "user", "content": line})
    while True:
        messages = [{"role": "system", "content": SYSTEM}, *history]
        with client.chat.completions.stream(model="gpt-5", messages=messages, tools=tools) as stream:
            said = stream.get_final_completion().choices[0].message
        history.append(said.to_dict())
        for call in said.tool_calls or []:
            output = run(json.loads(call.function.arguments)["command"])
            history.append({"role": "tool", "tool_call_id": call.id, "content": output})
        if not said.tool_calls:
            return


def anthropic_turn(client, history, line):
    tools = [{"name": "Bash", "description": "Runs a command.", "input_schema": COMMAND}]
    history.append({"role": "user", "content": line})
    while True:
        with client.messages.stream(model="claude-sonnet-4-5", max_tokens=2_000, system=SYSTEM, messages=history, tools=tools) as stream:
            said = stream.get_final_message()
        history.append({"role": "assistant", "content": [block.to_dict() for block in said.content]})
        calls = [block for block in said.content if block.type == "tool_use"]
        if not calls:
            return
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": run(call.input["command"])} for call in calls]
        history.append({"role": "user", "content": results})


def main():
    which, address = sys.argv[1:]
    if which == "openai":
        import openai
        client, turn = openai.OpenAI(base_url=f"{address}/v1", api_key="sk-none", max_retries=0), openai_turn
    else:
        import anthropic
        client, turn = anthropic.Anthropic(base_url=address, api_key="sk-ant-none", max_retries=0), anthropic_turn
    history = []
    for line in sys.stdin:
        try:
            turn(client, history, json.loads(line))
            print("ok", flush=True)
        except Exception as error:
            print(f"{type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
