"""/health and /generate."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(port: int, api_key: str | None, aborts: int, text: str) -> None:
    """Answer with `text` for ever; the first `aborts` generations are aborted."""
    left = [aborts]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200, {})

        def do_POST(self) -> None:
            if api_key and self.headers.get("Authorization") != f"Bearer {api_key}":
                self.answer(401, {})
                return
            left[0] -= 1
            reason = {"type": "abort", "message": "out of memory"} if left[0] >= 0 else {"type": "length"}
            self.answer(200, {"text": text, "meta_info": {"finish_reason": reason}})

        def answer(self, status: int, body: dict[str, object]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            sys.stdout.write(f"[2026-11-29 18:38:25] INFO:     127.0.0.1:1 - {format % args}\n")
            sys.stdout.flush()

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
