"""What the HTTP handlers share: the arguments, the requests in flight, the metrics."""

from __future__ import annotations

import copy
import dataclasses
import os
import signal
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sglang import __version__
from sglang.simulation.settings import Settings
from sglang.srt.entrypoints.engine import Engine
from sglang.srt.managers.tokenizer_manager import HEALTH_CHECK, SamplingParams, TokenizerManager
from sglang.srt.observability.metrics_collector import Metrics

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs

HEALTH_TIMEOUT = 20.0  # seconds, SGLANG_HEALTH_CHECK_TIMEOUT's default


class Application:
    """State of the serving main process."""

    def __init__(self, server_args: ServerArgs, settings: Settings, engine: Engine, config: Mapping[str, Any]) -> None:
        self.server_args = server_args
        self.settings = settings
        self.info = engine.scheduler_infos[0]
        self.config = config
        self.created = int(time.time())
        self.tokenizer_manager = TokenizerManager(engine.requests, engine.texts, self.info["context_len"])
        self.metrics = Metrics(server_args, self.info, engine.scheduler_pids[0])
        self.tokenizer_manager.on_output = self.metrics.on_output
        self.tokenizer_manager.on_generation = self.metrics.on_generation
        self.tokenizer_manager.start()
        self._gate = threading.Lock()
        self._open_answers = 0

    def freeze(self) -> None:
        """No answer leaves any more: SGLang's event loop is busy with its crash."""
        self._gate.acquire()

    def pass_gate(self) -> None:
        """Wait as long as the server is frozen."""
        with self._gate:
            return

    def fail(self) -> None:
        """The warm-up failed: end the server as SGLang does."""
        os.kill(os.getpid(), signal.SIGQUIT)

    def enter_answer(self, change: int) -> None:
        """Count answers that are being written."""
        with self._gate:
            self._open_answers += change

    def finish_answers(self) -> None:
        """Let the last answers reach their callers before the process is killed; at most a second."""
        until = time.monotonic() + 1
        while self._open_answers > 0 and time.monotonic() < until:
            time.sleep(0.01)

    def is_healthy(self) -> bool:
        """Whether a one-token request is answered in time."""
        manager = self.tokenizer_manager
        if not manager.is_ready or manager.gracefully_exit:
            return False
        answered = threading.Event()

        def ask() -> None:
            for _ in manager.generate("health", SamplingParams(max_new_tokens=1), f"{HEALTH_CHECK}_{time.time()}"):
                answered.set()

        threading.Thread(target=ask, daemon=True).start()
        until = time.monotonic() + HEALTH_TIMEOUT
        while time.monotonic() < until:
            if answered.wait(self.settings.health_poll_seconds):
                return True
        return False

    @property
    def shows_metrics(self) -> bool:
        """Whether there is a /metrics."""
        return self.server_args.enable_metrics and self.settings.fault("no_metrics") is None

    def model_info(self) -> dict[str, Any]:
        """GET /model_info."""
        args = self.server_args
        return {
            "model_path": args.model_path,
            "tokenizer_path": args.tokenizer_path,
            "is_generation": True,
            "preferred_sampling_params": args.preferred_sampling_params,
            "weight_version": args.weight_version,
            "has_image_understanding": False,
            "has_audio_understanding": False,
            "model_type": self.config.get("model_type"),
            "architectures": self.config.get("architectures"),
        }

    def server_info(self) -> dict[str, Any]:
        """GET /server_info: the resolved arguments and what the ranks report."""
        arguments = dataclasses.asdict(self.server_args)
        if self.settings.fault("wrong_algorithm"):
            arguments["speculative_algorithm"] = "DFLASH"
        tokens = self.info["max_total_num_tokens"]
        state = copy.deepcopy(arguments)
        state.update(
            decode_attention_backend=self.server_args.attention_backend,
            prefill_attention_backend=self.server_args.attention_backend,
            max_speculative_num_draft_tokens=self.server_args.speculative_num_draft_tokens,
            last_gen_throughput=self.metrics.gauge("gen_throughput"),
            memory_usage={
                "weight": self.info["weight_gb"],
                "kvcache": round(self.metrics.kv_cache_gb, 2),
                "token_capacity": tokens,
                "graph": 0.04,
            },
            effective_max_running_requests_per_dp=self.server_args.max_running_requests,
        )
        return {
            **arguments,
            "status": "ready",
            "max_total_num_tokens": tokens,
            "max_req_input_len": self.info["context_len"] - 6,
            "internal_states": [state],
            "version": __version__,
            "kv_events": None,
        }
