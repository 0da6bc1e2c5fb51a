"""Counterparts of SGLang's entrypoints, under its own file and function names."""
