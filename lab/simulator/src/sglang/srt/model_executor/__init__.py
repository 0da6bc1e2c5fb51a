"""Counterparts of SGLang's model_executor, under its own file and function names."""
