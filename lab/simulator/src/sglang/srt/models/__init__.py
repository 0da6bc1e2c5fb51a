"""Counterparts of SGLang's models, under its own file and function names."""
