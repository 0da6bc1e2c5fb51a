"""Counterparts of SGLang's mem_cache/, under its own file and function names."""
