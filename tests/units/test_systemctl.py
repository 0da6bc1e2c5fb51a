"""systemctl: what `systemctl show` prints, as recorded on Debian 12 (systemd 252)."""

from __future__ import annotations

from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import Active

SHOWN = """\
Result=success
NRestarts=2
MainPID=1234
ExecMainStatus=0
StatusText=kv_cache 80% eta 3s
LoadState=loaded
ActiveState=activating
SubState=start
UnitFileState=enabled
InactiveExitTimestamp=@1795977057
ActiveEnterTimestamp=
InvocationID=e58b3fb58801440f8393884f1afabdd4
"""


def test_a_loading_unit() -> None:
    state = systemctl.parse_show(SHOWN)
    assert state.active is Active.ACTIVATING
    assert (state.main_pid, state.restarts, state.invocation[:4]) == (1234, 2, "e58b")
    assert state.status_text == "kv_cache 80% eta 3s"
    assert state.exists
    assert not state.serving
    assert not state.failed


def test_a_unit_that_does_not_exist() -> None:
    state = systemctl.parse_show("LoadState=not-found\nActiveState=inactive\nSubState=dead\nMainPID=0\n")
    assert not state.exists
    assert state.active is Active.INACTIVE


def test_a_status_text_may_hold_an_equals_sign() -> None:
    assert systemctl.parse_show("StatusText=crashed: a=b\n").status_text == "crashed: a=b"


def test_commands_are_argv_tuples_that_do_not_block() -> None:
    unit = systemctl.unit_name(30000)
    assert systemctl.restart(unit).argv == ("systemctl", "restart", "--no-block", "ddtree-server@30000.service")
    assert systemctl.show(unit).argv[:3] == ("systemctl", "show", unit)
    assert 1 in systemctl.reset_failed(unit).ok


def test_a_run_that_failed_began_when_its_main_process_did() -> None:
    """While systemd waits for the next try, InactiveExitTimestamp= is the end of the failed run."""
    waiting = "ActiveState=activating\nSubState=auto-restart\nInactiveExitTimestamp=@20\nExecMainStartTimestamp=@10\n"
    assert systemctl.parse_show(waiting).run_began == "@10"
    assert systemctl.parse_show(waiting.replace("auto-restart", "start")).run_began == "@20"
    assert systemctl.parse_show(waiting.replace("ExecMainStartTimestamp=@10\n", "")).run_began == "@20"
