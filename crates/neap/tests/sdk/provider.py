"""A provider in three protocols, whole and streamed, with tools, errors, counts and models. Run by sdk.rs; prints its port."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHAT_USAGE = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
RESPONSE_USAGE = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 14,
}


def events(all_of_them, named):
    """Server-sent events, with or without a line that names their kind."""
    text = ""
    for event in all_of_them:
        if named:
            text += f"event: {event['type']}\n"
        text += f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
    return text.encode()


def chat(asked):
    base = {"id": "c1", "created": 1, "model": "gpt-x"}
    call = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    reason = "tool_calls" if asked.get("tools") else "stop"
    if not asked.get("stream"):
        said = {"role": "assistant", "content": "Hello"}
        if asked.get("tools"):
            said = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": said, "finish_reason": reason}
        return base | {"object": "chat.completion", "choices": [choice], "usage": CHAT_USAGE}
    base["object"] = "chat.completion.chunk"
    deltas = [{"role": "assistant", "content": "Hel"}, {"content": "lo"}]
    if asked.get("tools"):
        begun = call | {"index": 0, "function": {"name": "f", "arguments": '{"a"'}}
        deltas = [{"role": "assistant", "tool_calls": [begun]}]
        deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]})
    chunks = [base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append(base | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if asked.get("stream_options", {}).get("include_usage"):
        chunks.append(base | {"choices": [], "usage": CHAT_USAGE})
    return events([*chunks, "[DONE]"], named=False)


def response(asked):
    part = {"type": "output_text", "text": "Hello", "annotations": []}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "status": "completed"}
    whole |= {"output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": RESPONSE_USAGE}
    if not asked.get("stream"):
        return whole
    at = {"item_id": "m1", "output_index": 0, "content_index": 0}
    stream = [
        {"type": "response.created", "response": whole | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": [], "status": "in_progress"}},
        {"type": "response.content_part.added", "part": part | {"text": ""}} | at,
        {"type": "response.output_text.delta", "delta": "Hello", "logprobs": []} | at,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return events([event | {"sequence_number": number} for number, event in enumerate(stream)], named=True)


def message(asked):
    block, reason = {"type": "text", "text": "Hello"}, "end_turn"
    empty, delta = block | {"text": ""}, {"type": "text_delta", "text": "Hello"}
    if asked.get("tools"):
        block, reason = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}, "tool_use"
        empty, delta = block | {"input": {}}, {"type": "input_json_delta", "partial_json": '{"a":1}'}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [block]}
    whole |= {"stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 3}}
    if not asked.get("stream"):
        return whole
    stream = [
        {"type": "message_start", "message": whole | {"content": [], "stop_reason": None}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]
    return events(stream, named=True)


ANSWERS = {
    "/v1/chat/completions": chat,
    "/v1/responses": response,
    "/v1/responses/input_tokens": lambda _: {"object": "response.input_tokens", "input_tokens": 42},
    "/v1/messages": message,
    "/v1/messages/count_tokens": lambda _: {"input_tokens": 42},
}
SLOW = {"error": {"message": "slow down", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
LONG = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"}}
CLAUDE = {"type": "model", "id": "claude-x", "display_name": "X", "created_at": "2026-01-01T00:00:00Z"}


class Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        is_stream = isinstance(body, bytes)
        body = body if is_stream else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("x-request-id", "r-1")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if "anthropic-version" in self.headers:
            self.answer(200, {"data": [CLAUDE], "has_more": False, "first_id": "claude-x", "last_id": "claude-x"})
        else:
            model = {"id": "gpt-x", "object": "model", "created": 1, "owned_by": "me"}
            self.answer(200, {"object": "list", "data": [model]})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.split("?")[0]
        if "please fail" in json.dumps(asked):
            is_anthropic = path.startswith("/v1/messages")
            self.answer(400 if is_anthropic else 429, LONG if is_anthropic else SLOW)
        else:
            self.answer(200, ANSWERS[path](asked))


server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
print(server.server_port, flush=True)
server.serve_forever()
