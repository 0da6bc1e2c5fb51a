"""Reads a model's weight files: every byte once, each rank its own slice of every file."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from typing import Any, Protocol

from sglang.simulation.bars import Bar
from sglang.simulation.context import RankContext, sleep_until
from sglang.srt.model_loader.config import WeightFile, weight_files

_CHUNK = 2**18


class Model(Protocol):
    """What a loader fills with weights."""

    def load_weights(self, weights: Sequence[WeightFile]) -> None: ...


class DefaultModelLoader:
    """Loads from a local folder, spread over the time that the phase may take."""

    def __init__(self, context: RankContext, *, is_draft: bool) -> None:
        self.context = context
        self.is_draft = is_draft

    def load_model(self, model: Any, model_path: str) -> int:
        """Fill the model; gives the bytes of all its files. Raises RuntimeError if there are none."""
        weights = weight_files(model_path)
        self.load_weights_and_postprocess(model, weights)
        return sum(file.size for file in weights)

    def load_weights_and_postprocess(self, model: Model, weights: Sequence[WeightFile]) -> None:
        """Read all files, with rank 0's progress bar. The model checks what it gets before the reading goes on."""
        began = time.monotonic()
        seconds = self.context.seconds("weights", is_draft=self.is_draft)
        bar = Bar(len(weights), "Multi-thread loading shards", shards=True) if self.context.rank == 0 else None
        model.load_weights(weights)
        if not self.is_draft:
            sleep_until(began + seconds * 0.3 / (len(weights) + 1))
            self.context.enter("weights")
        for index, file in enumerate(weights):
            self._read_slice(file, began + seconds * index / len(weights), seconds / len(weights))
            if bar:
                bar.update()
        sleep_until(began + seconds)
        if bar:
            bar.close()

    def _read_slice(self, file: WeightFile, starts: float, seconds: float) -> None:
        """This rank's part of a file, a few chunks at a time, so that reads spread over `seconds`."""
        size, rank = self.context.size, self.context.rank
        begin, end = file.size * rank // size, file.size * (rank + 1) // size
        checksum = 0
        with open(file.path, "rb", buffering=0) as stream:  # noqa: PTH123
            stream.seek(begin)
            position = begin
            while position < end:
                data = stream.read(min(_CHUNK, end - position))
                if not data:
                    raise RuntimeError(f"{file.path} became shorter while it was read")
                checksum = zlib.crc32(data, checksum)
                position += len(data)
                sleep_until(starts + seconds * (position - begin) / max(end - begin, 1))
