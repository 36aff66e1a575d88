"""A provider on this machine: answers as it is told to, and keeps all that it is asked."""

import json
from http.server import BaseHTTPRequestHandler


def stream(events):
    return b"".join(b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)


def said(asked, number, text, input_tokens=1):
    """An answer of the Messages API that says this."""
    return answer(asked, number, {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn", input_tokens)


def called(asked, number, name, given, input_tokens=1):
    """One that calls a tool."""
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    return answer(asked, number, block, {"type": "input_json_delta", "partial_json": json.dumps(given)}, "tool_use", input_tokens)


def answer(asked, number, block, delta, reason, input_tokens):
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": asked["model"], "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": input_tokens, "output_tokens": 1}}
    return stream([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 30}},
        {"type": "message_stop"},
    ])


def responded(asked, number, item, input_tokens=1):
    """An answer of the Responses API with this item."""
    usage = {"input_tokens": input_tokens, "output_tokens": 1, "total_tokens": input_tokens + 1}
    whole = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": asked["model"], "output": [item]}
    whole |= {"status": "completed", "usage": usage}
    return stream([
        {"type": "response.created", "response": whole | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ])


def message(number, text):
    """An item of the Responses API that says this."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": f"m{number}", "role": "assistant", "status": "completed", "content": [part]}


def completed(asked, number, delta, reason, input_tokens=1):
    """An answer of the Chat Completions API with this message."""
    chunk = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": asked["model"]}
    usage = {"prompt_tokens": input_tokens, "completion_tokens": 1, "total_tokens": input_tokens + 1}
    choice = {"index": 0, "finish_reason": None}
    chunks = [
        chunk | {"choices": [choice | {"delta": {"role": "assistant"} | delta}]},
        chunk | {"choices": [choice | {"delta": {}, "finish_reason": reason}]},
        chunk | {"choices": [], "usage": usage},
    ]
    return b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in chunks) + b"data: [DONE]\n\n"


class Provider(BaseHTTPRequestHandler):
    """`says` has a function for each path: of what is asked, and which request it is, the answer's bytes."""

    protocol_version = "HTTP/1.1"
    kept = []
    heads = []
    says = {}

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self):
        self.answer(200, b"")

    def do_GET(self):
        self.answer(200, b'{"data":[],"has_more":false}')

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        say = self.says.get(self.path.split("?")[0])
        if say is None:
            return self.answer(404, b'{"type":"error","error":{"type":"not_found_error","message":"no"}}')
        asked = json.loads(body)
        self.kept.append(asked)
        self.heads.append((self.path, dict(self.headers)))
        self.answer(200, say(asked, len(self.kept)), "text/event-stream")
