"""Asking the server, in a thread, until a real generation has come back.

/health is 503 until SGLang's own warm-up is done, and 200 after; /v1/models and /model_info answer 200 much earlier and
prove nothing. After a failed answer the probe just asks again; only garbage, again and again, ends the server: it computes
nonsense and would go on.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .answers import read_answer
from .events import Events, Garbled, Generated
from .notify import one_line
from .redaction import redact
from .server_config import ProbeRequest

_HEALTH_TIMEOUT_S = 25.0  # SGLang's own health generation gives up after 20 s
_LARGEST_ANSWER = 4 * 1024 * 1024
_GARBAGE_IN_A_ROW = 3
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class NotReady(Exception):
    """The server didn't answer as a ready one does; the text says how."""


class Garbage(NotReady):
    """The server answered with nonsense."""


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """Where the server listens, and its API key."""

    address: str
    port: int
    api_key: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be printed."""
        return (self.api_key,) if self.api_key else ()

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}


def generate_once(endpoint: Endpoint, request: ProbeRequest) -> str:
    """One GET /health and one POST /generate. Returns the text; raises NotReady."""
    _ask(endpoint, "GET", "/health", None, _HEALTH_TIMEOUT_S)
    body = {
        "text": request.prompt,
        "sampling_params": {"temperature": 0, "max_new_tokens": request.max_new_tokens},
    }
    return generated_text(_ask(endpoint, "POST", "/generate", body, request.timeout_s))


def generated_text(answer: bytes) -> str:
    """The text of an answer of /generate. Raises NotReady if it isn't sound (answers.py)."""
    read = read_answer(answer)
    if read.problem:
        raise (Garbage if read.garbage else NotReady)(f"/generate: {one_line(read.problem)}")
    return read.text


def _ask(endpoint: Endpoint, method: str, path: str, body: Mapping[str, Any] | None, timeout_s: float) -> bytes:
    address = _EVERY_ADDRESS.get(endpoint.address, endpoint.address)
    connection = http.client.HTTPConnection(address, endpoint.port, timeout=timeout_s)
    headers = endpoint.headers() | ({"Content-Type": "application/json"} if body is not None else {})
    try:
        connection.request(method, path, body=json.dumps(body) if body is not None else None, headers=headers)
        response = connection.getresponse()
        answer = response.read(_LARGEST_ANSWER)
    except (OSError, http.client.HTTPException) as error:
        raise NotReady(f"{path}: {error or type(error).__name__}") from None
    except Exception as error:  # noqa: BLE001 - http.client's own words of a bad header hold the header: only the kind is told
        carries = ", which carries the credential api_key" if endpoint.api_key else ""
        raise NotReady(f"request{carries}: {type(error).__name__}") from None
    finally:
        connection.close()
    if response.status != http.HTTPStatus.OK:
        raise NotReady(f"{path} answered {response.status}")
    return answer


class Prober:
    """Repeats `generate_once` until it succeeds, then reports Generated once and ends; or Garbled, if that is all that comes."""

    def __init__(self, endpoint: Endpoint, request: ProbeRequest, events: Events, pause_s: float) -> None:
        self._endpoint = endpoint
        self._request = request
        self._events = events
        self._pause_s = pause_s
        self._closing = threading.Event()
        self._said = ""
        self._thread = threading.Thread(target=self._run, name="probe", daemon=True)

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def close(self) -> None:
        """Ask no more; doesn't wait for a request on its way."""
        self._closing.set()

    def _run(self) -> None:
        garbage = 0
        while not self._closing.is_set():
            try:
                text = generate_once(self._endpoint, self._request)
            except NotReady as error:
                reason = redact(str(error), self._endpoint.secrets)  # a server may answer with what it was sent
                self._say(reason)
                garbage = garbage + 1 if isinstance(error, Garbage) else 0
                if garbage == _GARBAGE_IN_A_ROW:
                    self._events.put(Garbled(reason))
                    return
                self._closing.wait(self._pause_s)
                continue
            self._events.put(Generated(text))
            return

    def _say(self, reason: str) -> None:
        if not reason.startswith("/health") and reason != self._said:
            self._said = reason
            print(f"ddtree launcher: not ready: {reason}", file=sys.stderr, flush=True)
