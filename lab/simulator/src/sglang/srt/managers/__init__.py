"""Counterparts of SGLang's managers, under its own file and function names."""
