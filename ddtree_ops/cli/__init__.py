"""The command line: one file per command, loaded only when it is called, so that `--help` is quick."""

from __future__ import annotations

import errno
import importlib
import os
import sys

import click

from ddtree_ops import __version__
from ddtree_ops.cli import interrupting
from ddtree_ops.cli.terminal import colour_wanted

# Name and one line of help. The file is cli/<name>.py and holds a click command called `command`.
COMMANDS: tuple[tuple[str, str], ...] = (
    ("init", "Write a commented starter inventory for a host."),
    ("plan", "Show what a deploy would do, and what speaks against it."),
    ("deploy", "Bring hosts to what the inventory says; switch back if that fails."),
    ("wait", "Follow a load until the server is ready, died, stalled or timed out."),
    ("smoke", "Ask the server the smoke questions and judge its answers."),
    ("status", "Show what serves on each host."),
    ("logs", "Print or follow the server's journal."),
    ("triage", "Say why a server failed: from a host's journal, a saved log or stdin."),
    ("params", "Follow server arguments through a runtime's source; compare two runtimes."),
    ("releases", "List the releases on each host."),
    ("rollback", "Switch back to an earlier release."),
    ("start", "Start the server and wait until it is ready."),
    ("stop", "Drain and stop the server."),
    ("restart", "Restart the server and wait until it is ready."),
    ("doctor", "Check this machine and the way to each host."),
    ("exporter", "Serve what is known of this host to Prometheus, and to people as a page."),
)


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called; `listed` serves --help."""

    listed = COMMANDS
    prefix = ""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, _ in self.listed]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in dict(self.listed):
            return None
        module = importlib.import_module(f"ddtree_ops.cli.{self.prefix}{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(self.listed)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in dict(self.listed) and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], dict(self.listed), n=1)
            ctx.fail(f"no such command: {args[0]}" + (f"; did you mean {close[0]}?" if close else ""))
        return super().resolve_command(ctx, args)


EPILOG = """\b
Examples:
  ddtree-ops init --host ct200 --address 192.0.2.7 --hardware rtx-pro-6000-8x
  ddtree-ops deploy --host ct200
  ddtree-ops status --group all
  ddtree-ops logs --host ct200 -f

\b
The inventory is --inventory, else $DDTREE_OPS_INVENTORY, else ./inventory.
Exit codes: 0 fine, 1 failed, 2 usage or invalid inventory, 3 unreachable, 4 server died or
failure found, 5 stalled or timed out, 6 changes pending, 7 refused, 8 deploy failed and the
former release serves again, 9 locked by another, 10 inconclusive, 130 interrupted.
"""


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ddtree-ops")
def root() -> None:
    """Deploy SGLang with DDTree speculative decoding to bare-metal GPU hosts, and explain every crash."""


def main() -> None:
    """Entry point of the `ddtree-ops` command."""
    _open_missing_streams()
    # pydantic would look through all installed packages for plugins of its own: 20 ms, and there are none that we want.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    interrupting.end_by_signal()
    sys.exit(_run())


def _open_missing_streams() -> None:
    """A caller may have closed them (`>&-`); libraries, and descriptors opened later in their place, would go wrong."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))


def _run() -> int:
    try:
        # None lets click look whether the output is a terminal; the rest it doesn't know.
        code = root.main(standalone_mode=False, color=None if colour_wanted() else False)
        return code if isinstance(code, int) else 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - what isn't expected is raised again there
        return _shown(error)


def _shown(error: Exception | KeyboardInterrupt) -> int:
    """Show an expected error and return its exit code; raise any other. What it takes, 4 MB, is imported only here."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):  # and nothing can be imported
        click.echo(f"error: {error.strerror}: raise the limit (`ulimit -n`, the unit's LimitNOFILE=)", err=True)
        return 1
    from ddtree_ops.cli import errors
    from ddtree_ops.errors import DdtreeOpsError

    if isinstance(error, click.ClickException):
        error.show()
        errors.show_document(type(error).__name__, error.format_message(), error.exit_code)
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo("interrupted", err=True)
        errors.show_document("Interrupted", "interrupted", errors.INTERRUPTED)
        return errors.INTERRUPTED
    if isinstance(error, DdtreeOpsError):
        errors.show(error)
        return error.exit_code
    if isinstance(error, OSError) and error.filename is None:
        click.echo(f"error: can't write the output: {error.strerror or error}", err=True)
        return 1
    raise error
