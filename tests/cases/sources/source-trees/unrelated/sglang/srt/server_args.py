class ServerArgs:
    speculative_num_draft_tokens: int | None = None
    speculative_ddtree_budget: int | None = None
