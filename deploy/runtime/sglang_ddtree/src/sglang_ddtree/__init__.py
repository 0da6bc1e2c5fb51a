"""SGLang under systemd, and (later) DDTree for it. Importing this package imports neither torch nor SGLang."""

__version__ = "0.1.0"
