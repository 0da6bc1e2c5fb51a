"""The serving runtime, under SGLang's own file and function names."""
