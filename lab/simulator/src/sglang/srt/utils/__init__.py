"""Counterparts of SGLang's utils/, under its own file and function names."""
