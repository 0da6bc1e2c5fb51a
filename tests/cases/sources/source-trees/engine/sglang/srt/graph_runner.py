from sglang.srt.algorithm import SpecAlgorithm
from sglang.srt.buffers import Batch, Buffers
from sglang.srt.server_args import ServerArgs


class ModelRunner:
    def __init__(self, server_args: ServerArgs, spec_algorithm: SpecAlgorithm, is_draft_worker: bool) -> None:
        self.server_args = server_args
        self.spec_algorithm = spec_algorithm
        self.is_draft_worker = is_draft_worker
        self.graph_runner = GraphRunner(self)

    def forward(self, batch: Batch) -> None:
        self.graph_runner.replay(batch)


class GraphRunner:
    def __init__(self, model_runner: ModelRunner) -> None:
        args = model_runner.server_args
        self.tokens_per_request = 1
        if model_runner.spec_algorithm.is_speculative():
            self.tokens_per_request = model_runner.spec_algorithm.verify_width(
                args.speculative_num_draft_tokens, model_runner.is_draft_worker
            )
        self.max_bs = args.max_running_requests
        self.buffers = Buffers(self.max_bs, self.max_bs * self.tokens_per_request)

    def replay(self, batch: Batch) -> None:
        self.replay_prepare(batch)

    def replay_prepare(self, batch: Batch) -> None:
        raw_bs = batch.batch_size
        raw_tokens = raw_bs * self.tokens_per_request
        self.buffers.fill_from(batch, raw_bs, raw_tokens)
