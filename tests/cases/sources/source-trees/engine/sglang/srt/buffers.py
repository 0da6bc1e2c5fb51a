import torch


def copy_all(dsts: list[torch.Tensor], srcs: list[torch.Tensor]) -> None:
    for dst, src in zip(dsts, srcs, strict=True):
        dst.copy_(src)


class Buffers:
    def __init__(self, max_bs: int, max_tokens: int) -> None:
        self.input_ids = torch.zeros(max_tokens, dtype=torch.int64)
        self.seq_lens = torch.zeros(max_bs, dtype=torch.int32)

    def fill_from(self, batch: "Batch", raw_bs: int, raw_tokens: int) -> None:
        dsts = []
        srcs = []
        for name, count in (("input_ids", raw_tokens), ("seq_lens", raw_bs)):
            dst = getattr(self, name)[:count]
            dsts.append(dst)
            srcs.append(getattr(batch, name))
        copy_all(dsts, srcs)


class Batch:
    def __init__(self, input_ids: torch.Tensor, seq_lens: torch.Tensor, page_table: torch.Tensor) -> None:
        self.input_ids = input_ids
        self.seq_lens = seq_lens
        self.page_table = page_table
        self.batch_size = len(seq_lens)
