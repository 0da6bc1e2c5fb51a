"""Where the files are that travel with the tool: roles, playbooks, locks, built wheels."""

from __future__ import annotations

from pathlib import Path

from ddtree_ops.errors import DdtreeOpsError

_PACKAGE = Path(__file__).resolve().parent


def root() -> Path:
    """The folder that holds `roles/` and `deploy/`: the checkout, or `_assets` inside an installed wheel."""
    for candidate in (_PACKAGE.parent, _PACKAGE / "_assets"):
        if (candidate / "roles").is_dir() and (candidate / "deploy" / "playbooks").is_dir():
            return candidate
    raise DdtreeOpsError(
        f"roles and playbooks are missing beside {_PACKAGE}", hint="install ddtree-ops again, or run from a checkout"
    )


def playbook(name: str) -> Path:
    """Path of a playbook by its name without `.yml`."""
    return root() / "deploy" / "playbooks" / f"{name}.yml"


def lock(name: str) -> Path:
    """Path of a hash lock: a name in deploy/locks, or a path."""
    path = Path(name)
    return path if path.is_absolute() else root() / "deploy" / "locks" / f"{name}.txt"


def wheels() -> Path:
    """Folder of the wheels that `make wheels` builds."""
    return root() / "build" / "wheels"


def expand(path: str) -> str:
    """A controller path of a spec: `{project}/` at its start means root()."""
    return path.replace("{project}/", f"{root()}/", 1) if path.startswith("{project}/") else path
