class SpecAlgorithm:
    def is_speculative(self) -> bool:
        return True

    def verify_width(self, num_draft_tokens: int, is_draft_worker: bool) -> int:
        return 1 if is_draft_worker else num_draft_tokens
