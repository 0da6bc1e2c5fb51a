"""Where the project's own files are: roles, playbooks, locks, built wheels. The tool runs from a checkout."""

from __future__ import annotations

from pathlib import Path

from ddtree_ops.errors import DdtreeOpsError

_ROOT = Path(__file__).resolve().parents[1]


def root() -> Path:
    """The checkout. Raises DdtreeOpsError if the package was installed without it."""
    if not (_ROOT / "roles").is_dir():
        raise DdtreeOpsError(f"roles and playbooks are missing in {_ROOT}", hint="run ddtree-ops from a checkout (make setup)")
    return _ROOT


def playbook(name: str) -> Path:
    """Path of a playbook by its name without `.yml`."""
    return root() / "deploy" / "playbooks" / f"{name}.yml"


def role_file(role: str, name: str) -> Path:
    """A file that a role brings: its programs for the host."""
    return root() / "roles" / role / "files" / name


def host_program(name: str) -> Path:
    """A file of the program that changes releases on a host (role service)."""
    return root() / "roles" / "service" / "module_utils" / "ddtree_host" / f"{name}.py"


def lock(name: str) -> Path:
    """Path of a hash lock: a name in deploy/locks, or a path."""
    path = Path(name)
    return path if path.is_absolute() else root() / "deploy" / "locks" / f"{name}.txt"


def wheels() -> Path:
    """Folder of the wheels that `make wheels` builds."""
    return root() / "build" / "wheels"


def dashboards() -> Path:
    """Folder of what Prometheus, Alertmanager and Grafana get."""
    return root() / "dashboards"


def expand(path: str) -> str:
    """A controller path of a spec: `{project}/` at its start means root()."""
    return path.replace("{project}/", f"{root()}/", 1) if path.startswith("{project}/") else path
