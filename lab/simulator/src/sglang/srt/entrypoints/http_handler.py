"""HTTP: routes, the API key, JSON in and out, uvicorn's access lines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from sglang.simulation.console import log
from sglang.srt.entrypoints import generate, openai
from sglang.srt.entrypoints.application import Application
from sglang.srt.managers.tokenizer_manager import BadRequest

# Reachable without an API key (SGLang's add_api_key_middleware).
_OPEN_PREFIXES = ("/health", "/metrics")


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "uvicorn"
    sys_version = ""
    application: ClassVar[Application]

    def do_GET(self) -> None:
        """Routes without a body."""
        self._handle(self._get_routes())

    def do_POST(self) -> None:
        """Routes with a JSON body; some of the others answer to POST too."""
        self._handle(self._post_routes())

    def _get_routes(self) -> dict[str, Callable[[], None]]:
        app = self.application
        return {
            "/health": self._health,
            "/health_generate": self._health,
            "/model_info": lambda: self.answer(app.model_info()),
            "/get_model_info": lambda: self.answer(app.model_info()),
            "/server_info": lambda: self.answer(app.server_info()),
            "/get_server_info": lambda: self.answer(app.server_info()),
            "/v1/models": lambda: self.answer(openai.models(app)),
            "/flush_cache": self._flush_cache,
            "/ping": lambda: self._send(HTTPStatus.OK, b"", "text/plain"),
            **({"/metrics": self._metrics} if app.shows_metrics else {}),
        }

    def _post_routes(self) -> dict[str, Callable[[], None]]:
        app = self.application
        return {
            "/generate": lambda: generate.handle(self, app, self._body()),
            "/v1/completions": lambda: openai.completions(self, app, self._body()),
            "/v1/chat/completions": lambda: openai.chat_completions(self, app, self._body()),
            "/flush_cache": self._flush_cache,
        }

    def _handle(self, routes: dict[str, Callable[[], None]]) -> None:
        path = self.path.partition("?")[0]
        self._began = time.monotonic()
        self._counted_path = path if path in routes else "unknown"
        self.application.metrics.on_request(self._counted_path, self.command)
        self.application.enter_answer(1)
        try:
            if not self._is_allowed(path):
                self.answer({"error": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
            elif path not in routes:
                wrong = path in (self._get_routes() | self._post_routes())
                status = HTTPStatus.METHOD_NOT_ALLOWED if wrong else HTTPStatus.NOT_FOUND
                self.answer({"detail": status.phrase}, status)
            else:
                routes[path]()
        except BadRequest as error:
            body = {"message": str(error), "type": "BadRequest", "param": None, "code": 400}
            self.answer({"object": "error", **body} if path.startswith("/v1") else {"error": body}, HTTPStatus.BAD_REQUEST)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.application.enter_answer(-1)
            self.application.metrics.on_finished(self._counted_path, self.command)

    def _is_allowed(self, path: str) -> bool:
        key = self.application.server_args.api_key
        if not key or path.startswith(_OPEN_PREFIXES):
            return True
        return self.headers.get("Authorization", "") == f"Bearer {key}"

    def _body(self) -> dict[str, Any]:
        try:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
        except ValueError:
            raise BadRequest("The body is not JSON.") from None
        if not isinstance(body, dict):
            raise BadRequest("The body is not a JSON object.")
        return body

    def _health(self) -> None:
        status = HTTPStatus.OK if self.application.is_healthy() else HTTPStatus.SERVICE_UNAVAILABLE
        self._send(status, b"", "text/plain")

    def _metrics(self) -> None:
        self._send(HTTPStatus.OK, self.application.metrics.exposition(), "text/plain; version=0.0.4; charset=utf-8")

    def _flush_cache(self) -> None:
        done = self.application.tokenizer_manager.flush_cache()
        text = "Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, "
        text += "the operation will not be performed.)\n"
        self._send(HTTPStatus.OK if done else HTTPStatus.BAD_REQUEST, text.encode(), "text/plain; charset=utf-8")

    def answer(self, value: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        """One JSON document."""
        self._send(status, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), "application/json")

    def stream(self, events: Iterator[Any]) -> None:
        """Server-sent events, `[DONE]` at the end."""
        self.application.pass_gate()
        self._log_access(HTTPStatus.OK)
        self.send_response_only(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            self._chunk(f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode())
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.application.pass_gate()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _send(self, status: HTTPStatus, data: bytes, content_type: str) -> None:
        self.application.pass_gate()
        self._log_access(status)
        self.send_response_only(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _log_access(self, status: HTTPStatus) -> None:
        self.application.metrics.on_response(self._counted_path, self.command, int(status))
        if self.path.startswith(tuple(self.application.server_args.uvicorn_access_log_exclude_prefixes or ["\0"])):
            return
        host, port = self.client_address[:2]
        path = self.path.encode("ascii", "backslashreplace").decode()
        log(f'INFO:     {host}:{port} - "{self.command} {path} HTTP/1.1" {int(status)} {status.phrase}')

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: access lines are written by _log_access in uvicorn's form."""


class Server(ThreadingHTTPServer):
    """Threads end with the process."""

    daemon_threads = True
    request_queue_size = 128


def listen(application: Application) -> Server:
    """Bind and listen. Raises OSError."""
    handler = type("BoundHandler", (Handler,), {"application": application})
    return Server((application.server_args.host, application.server_args.port), handler)
