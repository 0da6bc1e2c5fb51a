"""A simulator of SGLang's server. Not SGLang: see README.md for what it imitates and what it does not."""

__version__ = "0.5.13.post1"
