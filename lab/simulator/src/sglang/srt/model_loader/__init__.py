"""Counterparts of SGLang's model_loader, under its own file and function names."""
