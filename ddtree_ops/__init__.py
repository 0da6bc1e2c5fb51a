"""ddtree-ops: deploy SGLang with DDTree speculative decoding, know when it is ready, and explain every crash."""

__version__ = "0.1.0"
