"""DDTree for SGLang, and SGLang under systemd. Importing this package imports neither torch nor SGLang."""

__version__ = "0.1.0"
