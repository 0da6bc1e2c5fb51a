"""One model on one rank: loads it, sizes its cache, captures its graphs, runs its passes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sglang.simulation.console import log
from sglang.simulation.context import RankContext, sleep_until
from sglang.simulation.gpu import CONTEXT_GB
from sglang.srt.managers.schedule_batch import ForwardBatch, ForwardMode
from sglang.srt.model_executor.cuda_graph_runner import CudaGraphRunner
from sglang.srt.model_executor.model_runner_kv_cache_mixin import GIB, ModelRunnerKVCacheMixin
from sglang.srt.model_executor.pool_configurator import MemoryPoolConfig
from sglang.srt.model_loader.config import read_config
from sglang.srt.model_loader.loader import DefaultModelLoader
from sglang.srt.models.dflash import DFlashDraftModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sglang.srt.model_loader.config import WeightFile
    from sglang.srt.server_args import ServerArgs

_DRAFT_ALLOWANCE = 1.15  # a verify pass takes that much longer than plain decoding
_OPTIONAL_MODELS = (
    ("deepseek_v4", "No module named 'tilelang'"),
    ("deepseek_v4_nextn", "No module named 'tilelang'"),
    ("mimo_audio", "Can not import FA3 in sgl_kernel. Please check your installation."),
    ("mimo_v2", "Can not import FA3 in sgl_kernel. Please check your installation."),
    ("mimo_v2_nextn", "Can not import FA3 in sgl_kernel. Please check your installation."),
)


class TargetModel:
    """The target. Its answers come from the invented language; its files are only read."""

    def load_weights(self, weights: Sequence[WeightFile]) -> None:
        """Nothing to check."""


class ModelRunner(ModelRunnerKVCacheMixin):
    """Target or draft model of one rank."""

    def __init__(self, server_args: ServerArgs, context: RankContext, *, pool: MemoryPoolConfig | None = None) -> None:
        self.server_args = server_args
        self.context = context
        self.is_draft_worker = pool is not None
        path = server_args.speculative_draft_model_path if self.is_draft_worker else server_args.model_path
        self.model_path = path or ""
        self.weight_gb = 0.0
        self.graph_runner: CudaGraphRunner | None = None
        if pool is not None:
            self.memory_pool_config = pool
        pre_model_load_memory = self.init_torch_distributed()
        self.initialize(pre_model_load_memory)

    def init_torch_distributed(self) -> float:
        """Meet the other ranks; gives the free memory in GB before any model is loaded."""
        log("Init torch distributed begin.")
        began, before = time.monotonic(), self.context.gpu.available
        if not self.is_draft_worker:
            sleep_until(began + self.context.settings.phase_seconds["distributed_init"] / 2)
            self.context.enter("distributed_init")
            if self.context.size > 1 and self.context.rank == 0:
                log("sglang is using nccl==2.28.9")
            sleep_until(began + self.context.settings.phase_seconds["distributed_init"])
            self.context.gpu.allocate(CONTEXT_GB)
        self.context.group.all_reduce()
        usage = before - self.context.gpu.available
        log(f"Init torch distributed ends. elapsed={time.monotonic() - began:.2f} s, mem usage={usage:.2f} GB")
        if not self.is_draft_worker:
            for name, reason in _OPTIONAL_MODELS:
                log(f"Ignore import error when loading sglang.srt.models.{name}: {reason}")
        return self.context.gpu.available

    def initialize(self, pre_model_load_memory: float) -> None:
        """Model, cache, graphs: each with its lines in the log."""
        self.load_model()
        self.init_memory_pool(pre_model_load_memory)
        self.init_device_graphs()

    def load_model(self) -> None:
        """Read the weights."""
        log(f"Load weight begin. avail mem={self.context.gpu.available:.2f} GB")
        began = time.monotonic()
        config = read_config(self.model_path)
        self.model: Any = DFlashDraftModel(config) if self.is_draft_worker else TargetModel()
        self.loader = DefaultModelLoader(self.context, is_draft=self.is_draft_worker)
        size = self.loader.load_model(self.model, self.model_path)
        settings_gb = 0.0 if self.is_draft_worker else self.context.settings.weights_gb
        self.weight_gb = (settings_gb or size / GIB) / self.context.size
        self.context.gpu.allocate(self.weight_gb)
        kind = (config.get("architectures") or ["Qwen3ForCausalLM"])[0]
        log(
            f"Load weight end. elapsed={time.monotonic() - began:.2f} s, type={kind}, "
            f"avail mem={self.context.gpu.available:.2f} GB, mem usage={self.weight_gb:.2f} GB."
        )
        self.context.group.all_reduce()

    def init_device_graphs(self) -> None:
        """Capture CUDA graphs."""
        if self.server_args.disable_cuda_graph:
            return
        began, before = time.monotonic(), self.context.gpu.available
        log(f"Capture cuda graph begin. This can take up to several minutes. avail mem={before:.2f} GB")
        if self.context.rank == 0:
            log(f"Capture cuda graph bs {self.server_args.cuda_graph_bs}")
        self.graph_runner = CudaGraphRunner(self)
        free = self.context.gpu.available
        log(
            f"Capture cuda graph end. Time elapsed: {time.monotonic() - began:.2f} s. "
            f"mem usage={before - free:.2f} GB. avail mem={free:.2f} GB."
        )
        if self.server_args.disable_piecewise_cuda_graph:
            log("Disable piecewise CUDA graph because --disable-piecewise-cuda-graph is set")

    def forward(self, forward_batch: ForwardBatch) -> tuple[list[int], bool]:
        """One pass: the next token after each input token, and whether a captured graph ran."""
        output = self._forward_raw(forward_batch)
        self.context.group.all_reduce()
        return output

    def _forward_raw(self, forward_batch: ForwardBatch) -> tuple[list[int], bool]:
        is_decode = forward_batch.forward_mode is not ForwardMode.EXTEND
        if is_decode:
            self.context.meet_faults()
        if is_decode and self.graph_runner is not None and self.graph_runner.can_run(forward_batch):
            ret = self.graph_runner.replay(forward_batch)
            return ret, True
        return self.compute(forward_batch), False

    def compute(self, forward_batch: ForwardBatch) -> list[int]:
        """The model's work, and the time it takes."""
        seconds = 1 / self.context.settings.tokens_per_second
        if forward_batch.forward_mode is ForwardMode.TARGET_VERIFY:
            seconds *= _DRAFT_ALLOWANCE
        time.sleep(seconds)
        width = forward_batch.num_tokens_per_bs
        if forward_batch.forward_mode is ForwardMode.EXTEND:
            return [req.target_token(0) for req in forward_batch.reqs]
        return [
            forward_batch.reqs[index // width].target_token(position) for index, position in enumerate(forward_batch.positions)
        ]
