"""DDTree inside SGLang. Only `plugin` may be imported without torch, Triton and SGLang."""
