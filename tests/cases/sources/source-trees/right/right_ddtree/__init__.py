from sglang.srt.algorithm import SpecAlgorithm

BUDGET = 32


class TreeAlgorithm(SpecAlgorithm):
    def verify_width(self, num_draft_tokens: int, is_draft_worker: bool) -> int:
        return num_draft_tokens if is_draft_worker else BUDGET + 1
