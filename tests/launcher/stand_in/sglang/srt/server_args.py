"""As much of SGLang's argument parser as the tests need."""

import argparse
import sys
from dataclasses import dataclass


@dataclass
class ServerArgs:
    """Resolved arguments."""

    model_path: str
    port: int
    tp_size: int
    api_key: str | None
    speculative_algorithm: str | None


def prepare_server_args(argv: list[str]) -> ServerArgs:
    """Parse, then refuse what can't be, as SGLang does: argparse with status 2, everything else with ValueError."""
    parser = argparse.ArgumentParser(prog="launch_server.py")
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--host")
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--tp-size", type=int, default=1)
    parser.add_argument("--api-key")
    parser.add_argument("--speculative-algorithm")
    args = parser.parse_args(argv)
    sys.stdout.write("loading the model's config\n")  # SGLang and its libraries print to stdout here
    if args.speculative_algorithm not in (None, "DFLASH"):
        raise ValueError(f"Unknown speculative algorithm name: {args.speculative_algorithm}")
    return ServerArgs(args.model_path, args.port, args.tp_size, args.api_key, args.speculative_algorithm)
