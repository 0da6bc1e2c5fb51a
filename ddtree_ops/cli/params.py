"""ddtree-ops params: a group whose subcommands are files of their own, loaded when they are called."""

from __future__ import annotations

import click

from ddtree_ops.cli import LazyGroup

SUBCOMMANDS: tuple[tuple[str, str], ...] = (
    ("list", "List the server arguments of a runtime."),
    ("show", "Show one argument: flags, type, default, help, where it is defined."),
    ("explain", "Show what an argument is on a host, and which lines made it so."),
    ("diff", "Compare the arguments of two runtimes; what an upgrade does to a spec."),
    ("trace", "Follow a parameter through the source to where it ends."),
)
EPILOG = """\b
Examples:
  ddtree-ops params list --host ct200 --grep speculative
  ddtree-ops params show tp-size --source .venv
  ddtree-ops params explain mem-fraction-static --host ct200
  ddtree-ops params diff old.whl new.whl
  ddtree-ops params trace speculative_ddtree_budget --to num_tokens_per_bs --host ct200

Source is read, never run. With --host it is that of the release on the host, and only what isn't known yet travels.
"""


class Subcommands(LazyGroup):
    """One file each: cli/params_<name>.py."""

    listed = SUBCOMMANDS
    prefix = "params_"


@click.group(cls=Subcommands, epilog=EPILOG)
def command() -> None:
    """Follow server arguments through a runtime's source; compare two runtimes."""
