"""Which attention back-ends honour DDTree's tree mask when the target verifies (sglang 0.5.11 to 0.5.13.post1, read in source).

A back-end that ignores the mask lets a draft token see its siblings: the server runs and answers wrongly, without any error.
"""

from __future__ import annotations

# Arguments that can choose the back-end of the verify pass (it uses the prefill one unless speculative-attention-mode
# says decode).
BACKEND_ARGUMENTS = ("attention-backend", "prefill-attention-backend", "decode-attention-backend")

_IGNORED = {
    "trtllm_mla": "ignores the tree mask",
    "trtllm_mha": "ignores the tree mask",
    "cutlass_mla": "ignores the tree mask",
    "flashmla": "ignores the tree mask",
    "fa4": "ignores the tree mask for MLA",
    "fa3": "honours a tree mask on Hopper GPUs only",
}
_FOR_LATENT_ATTENTION = {"flashinfer": "ignores the tree mask for models with latent attention (MLA), such as Kimi K2.x"}


def tree_mask_problem(backend: str, *, latent_attention: bool | None = None) -> str | None:
    """Why DDTree can't verify with this back-end, or None.

    `latent_attention`: whether the model uses MLA (its config has `kv_lora_rank`); None: not known, then only back-ends
    that are wrong for every model are named.
    """
    problem = _IGNORED.get(backend)
    if problem is None and latent_attention:
        problem = _FOR_LATENT_ATTENTION.get(backend)
    return problem
