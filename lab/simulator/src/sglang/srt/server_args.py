"""The server's arguments: SGLang's names, order and defaults, as far as a host without GPU can tell them."""

from __future__ import annotations

import argparse
import dataclasses
import random
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass

from sglang.srt.arg_groups.disaggregation import DisaggregationArgs
from sglang.srt.arg_groups.speculative_hook import handle_speculative_decoding

# Second names of some arguments (SGLang 0.5.13.post1, ServerArgs.add_cli_args).
ALIASES: dict[str, tuple[str, ...]] = {
    "model_path": ("--model",),
    "tp_size": ("--tensor-parallel-size", "--tp"),
    "pp_size": ("--pipeline-parallel-size", "--pp"),
    "dp_size": ("--data-parallel-size", "--dp"),
    "ep_size": ("--expert-parallel-size", "--ep"),
}


@dataclass
class ServerArgs(DisaggregationArgs):
    """All arguments; those left out are completed from the others."""

    def __post_init__(self) -> None:
        """Complete and check. Raises ValueError."""
        if self.tokenizer_path is None:
            self.tokenizer_path = self.model_path
        if self.served_model_name is None:
            self.served_model_name = self.model_path
        self.device = self.device or "cuda"
        if self.random_seed is None:
            self.random_seed = random.randint(0, 1 << 30)
        self._handle_memory()
        self._handle_backends()
        self._handle_cuda_graphs()
        handle_speculative_decoding(self)

    def _handle_memory(self) -> None:
        if self.tp_size < 1:
            raise ValueError(f"tp_size must be positive, got {self.tp_size}.")
        if self.page_size is None:
            self.page_size = 1
        if self.chunked_prefill_size is None:
            self.chunked_prefill_size = 8192
        if self.mem_fraction_static is None:
            self.mem_fraction_static = 0.85

    def _handle_backends(self) -> None:
        self.attention_backend = self.attention_backend or "triton"
        self.sampling_backend = self.sampling_backend or "pytorch"
        self.grammar_backend = self.grammar_backend or "none"

    def _handle_cuda_graphs(self) -> None:
        if self.cuda_graph_bs is None:
            largest = self.cuda_graph_max_bs or 4
            self.cuda_graph_bs = [size for size in range(1, largest + 1) if size <= 8 or size % 8 == 0]
        self.cuda_graph_max_bs = max(self.cuda_graph_bs)
        self.piecewise_cuda_graph_max_tokens = self.piecewise_cuda_graph_max_tokens or self.chunked_prefill_size

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser) -> None:
        """One option per field."""
        hints = typing.get_type_hints(ServerArgs)
        for field in dataclasses.fields(ServerArgs):
            flags = (f"--{field.name.replace('_', '-')}", *ALIASES.get(field.name, ()))
            _add_option(parser, flags, field, hints[field.name])

    @classmethod
    def from_cli_args(cls, args: argparse.Namespace) -> ServerArgs:
        """Arguments from what argparse read. Raises ValueError."""
        attrs = [attr.name for attr in dataclasses.fields(cls)]
        return cls(**{attr: getattr(args, attr) for attr in attrs})

    def url(self) -> str:
        """Where the server answers; a wildcard address is reached over loopback."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "", "::") else self.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def _add_option(
    parser: argparse.ArgumentParser, flags: Sequence[str], field: dataclasses.Field[typing.Any], hint: typing.Any
) -> None:
    default = field.default if field.default is not dataclasses.MISSING else None
    if default is None and field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    kind = next(item for item in kinds if item is not types.NoneType)
    if kind is bool:
        parser.add_argument(*flags, dest=field.name, action="store_true", default=default)
    elif typing.get_origin(kind) is list:
        parser.add_argument(*flags, dest=field.name, nargs="+", type=typing.get_args(kind)[0], default=default)
    elif typing.get_origin(kind) is dict:
        return
    else:
        required = field.name == "model_path"
        parser.add_argument(*flags, dest=field.name, type=kind, default=default, required=required)


def prepare_server_args(argv: list[str]) -> ServerArgs:
    """Read the command line. Exits with 2 on an unknown argument (argparse); raises ValueError on a bad combination."""
    parser = argparse.ArgumentParser(prog="launch_server.py")
    ServerArgs.add_cli_args(parser)
    parser.set_defaults(mm_process_config={})
    raw_args = parser.parse_args(argv)
    return ServerArgs.from_cli_args(raw_args)
