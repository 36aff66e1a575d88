"""A provider on this machine: answers as it is told to, and keeps all that it is asked."""

import json
from http.server import BaseHTTPRequestHandler


def stream(events):
    return b"".join(b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)


class Provider(BaseHTTPRequestHandler):
    """`says` has a function for each path: of what is asked, and which request it is, the answer's bytes."""

    protocol_version = "HTTP/1.1"
    kept = []
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
        self.answer(200, say(asked, len(self.kept)), "text/event-stream")
