"""The main process: starts the ranks, then the HTTP server, warms up, and ends as SGLang ends."""

from __future__ import annotations

import errno
import http.client
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from sglang.simulation.console import exception_text, log
from sglang.simulation.context import hang
from sglang.simulation.moments import note
from sglang.simulation.settings import Settings
from sglang.srt.entrypoints.engine import Engine, kill_process_tree, launch_subprocesses
from sglang.srt.model_loader.config import read_config

if TYPE_CHECKING:
    from sglang.srt.entrypoints.application import Application
    from sglang.srt.server_args import ServerArgs

_WARMUP_TOKENS = 8


def launch_server(server_args: ServerArgs, settings: Settings) -> None:
    """Serve until a signal ends the process. Heavy imports come after the ranks were forked, to keep them small."""
    config = read_config(server_args.model_path)
    log("flashinfer.comm is not available, falling back to standard implementation")
    log(f"server_args={server_args!r}")
    log("Using default HuggingFace chat template with detected content format: string")
    pids: list[int] = []
    try:
        engine = launch_subprocesses(server_args, settings)
        pids += [*engine.scheduler_pids, engine.detokenizer_pid]
        if settings.fault("no_port"):
            hang()
        _serve(server_args, settings, engine, config)
    finally:
        kill_process_tree(pids, include_parent=False)


def _serve(server_args: ServerArgs, settings: Settings, engine: Engine, config: Any) -> None:
    from sglang.srt.entrypoints.application import Application
    from sglang.srt.entrypoints.http_handler import listen
    from sglang.srt.entrypoints.lifecycle import Lifecycle

    application = Application(server_args, settings, engine, config)
    lifecycle = Lifecycle(settings, engine, application)
    lifecycle.install()
    log(f"INFO:     Started server process [{os.getpid()}]")
    log("INFO:     Waiting for application startup.")
    log("INFO:     Application startup complete.")
    try:
        server = listen(application)
    except OSError as error:
        number = error.errno or errno.EADDRINUSE
        text = os.strerror(number).lower()
        address = (server_args.host, server_args.port)
        log(f"ERROR:    [Errno {number}] error while attempting to bind on address {address}: {text}")
        log("INFO:     Waiting for application shutdown.")
        log("INFO:     Application shutdown complete.")
        raise SystemExit(1) from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    log(f"INFO:     Uvicorn running on http://{server_args.host}:{server_args.port} (Press CTRL+C to quit)")
    threading.Thread(target=_warm_up, args=(application,), daemon=True).start()
    lifecycle.wait()


def _warm_up(application: Application) -> None:
    """One request to ourselves over HTTP; the server counts as healthy once it is answered."""
    args, settings = application.server_args, application.settings
    if not args.skip_server_warmup:
        time.sleep(settings.phase_seconds["warmup"] * 0.3)
        try:
            _request(application, "GET", "/model_info", None)
            time.sleep(settings.phase_seconds["warmup"] * 0.7)
            # With graph_width:request the warm-up ends with the prefill's token and never comes to a verify pass.
            tokens = 1 if settings.fault("graph_width", "request") else _WARMUP_TOKENS
            body = {"text": "The capital city of France is", "sampling_params": {"temperature": 0, "max_new_tokens": tokens}}
            _request(application, "POST", "/generate", body)
        except (OSError, http.client.HTTPException, RuntimeError):
            log(f"Initialization failed. warmup error: {exception_text()}")
            application.fail()
            return
    application.tokenizer_manager.is_ready = True
    note(settings.moments, "ready")
    log("The server is fired up and ready to roll!")


def _request(application: Application, method: str, path: str, body: Any) -> None:
    args = application.server_args
    host = "127.0.0.1" if args.host in ("0.0.0.0", "::", "") else args.host
    connection = http.client.HTTPConnection(host, args.port, timeout=600)
    headers = {"Content-Type": "application/json"}
    if args.api_key:
        headers["Authorization"] = f"Bearer {args.api_key}"
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    if response.status != 200:
        raise RuntimeError(f"{method} {path} answered {response.status}: {text.decode(errors='replace')[:200]}")
