"""Targets that DDTREE verifies, by architecture name.

Source: sglang 0.5.13.post1, the classes under srt/models that have `set_dflash_layers_to_capture`, or inherit it.
Left out, though they have it: targets with recurrent layers (Qwen3-Next, Qwen3.5: a state can't branch), with sliding
windows (GPT-OSS: the kernel counts the window by row, not by depth) and with sparse attention (DeepSeek V3.2, GLM DSA:
not on Triton).
"""

from __future__ import annotations

CAPTURING_TARGETS = frozenset(
    {
        "DeepseekV2ForCausalLM",
        "DeepseekV3ForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "IQuestCoderForCausalLM",
        "InternLM3ForCausalLM",
        "KimiK25ForConditionalGeneration",
        "LlamaForCausalLM",
        "Ministral3ForCausalLM",
        "MistralForCausalLM",
        "MistralLarge3ForCausalLM",
        "Phi3ForCausalLM",
        "Qwen3ForCausalLM",
        "Qwen3MoeForCausalLM",
        "Qwen3VLForConditionalGeneration",
    }
)
