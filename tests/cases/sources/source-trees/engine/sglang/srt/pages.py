import torch

from sglang.srt.buffers import Batch
from sglang.srt.server_args import ServerArgs


class PageTable:
    def __init__(self, server_args: ServerArgs, device: str) -> None:
        self.rows = torch.zeros(64, dtype=torch.int32)
        self.columns = 64
        self.per_page = server_args.page_size
        self.device = device

    def write(self, batch: Batch) -> None:
        self.rows[: self.columns] = batch.page_table
