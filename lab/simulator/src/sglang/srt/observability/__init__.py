"""Counterparts of SGLang's observability, under its own file and function names."""
