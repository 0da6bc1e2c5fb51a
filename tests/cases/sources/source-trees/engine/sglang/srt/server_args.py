from dataclasses import dataclass


@dataclass
class ServerArgs:
    model_path: str
    tp_size: int = 1
    page_size: int = 1
    max_running_requests: int | None = None
    speculative_algorithm: str | None = None
    speculative_num_draft_tokens: int | None = None
    speculative_ddtree_budget: int | None = None

    def __post_init__(self) -> None:
        if self.speculative_algorithm is not None and self.speculative_num_draft_tokens is None:
            self.speculative_num_draft_tokens = 8
        if self.speculative_ddtree_budget is not None and self.speculative_ddtree_budget < 1:
            raise ValueError("a budget is at least 1")
