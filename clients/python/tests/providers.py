"""A provider on this machine that answers as the APIs of OpenAI and Anthropic: with what a script says."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[str, dict[str, Any]], dict[str, Any]]
"""The answer to a request at a path."""


class Provider(ThreadingHTTPServer):
    def __init__(self, reply: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.reply = reply
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answers(BaseHTTPRequestHandler):
    server: Provider  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(request)
        body = json.dumps(self.server.reply(self.path, request)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def provider(reply: Reply) -> Generator[Provider, None, None]:
    server = Provider(reply)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def anthropic_message(content: list[Any], reason: str) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "test", "usage": usage}
    return {**message, "content": content, "stop_reason": reason, "stop_sequence": None}


def chat_completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {"id": "c_1", "object": "chat.completion", "created": 1, "model": "test", "choices": [choice]}


def response(text: str) -> dict[str, Any]:
    content: list[Any] = [{"type": "output_text", "text": text, "annotations": []}]
    output: list[Any] = [{"type": "message", "id": "m_1", "role": "assistant", "status": "completed", "content": content}]
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "test", "status": "completed"}
    return {**head, "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
