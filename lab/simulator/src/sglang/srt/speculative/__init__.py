"""Counterparts of SGLang's speculative, under its own file and function names."""
