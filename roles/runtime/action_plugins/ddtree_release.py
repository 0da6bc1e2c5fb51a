"""Controller's half of `ddtree_release` and `ddtree_venv` (a link): runs it, sends wheels that the host lacks, runs it again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

# Own wheels, the list, the files of the list, the build.
_MOST_CALLS = 4
_LOCKED = re.compile(r"sha256:([0-9a-f]{64})")


class ActionModule(ActionBase):  # type: ignore[misc]
    """Usually one remote call: the module says what it needs only if it has to build and lacks something."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        wheelhouse = arguments.pop("controller_wheelhouse", "")
        own = {wheel["sha256"]: Path(wheel["path"]) for wheel in arguments["wheels"]}
        arguments["wheels"] = [{"name": path.name, "sha256": digest, "own": True} for digest, path in own.items()]
        arguments["listed"] = not wheelhouse
        try:
            return result | self._stage(arguments, own, wheelhouse, task_vars)
        finally:
            if "incoming" in arguments:
                self._remove_tmp_path(self._connection._shell.tmpdir)

    def _stage(
        self, arguments: dict[str, Any], own: Mapping[str, Path], wheelhouse: str, task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        sources = dict(own)
        for _ in range(_MOST_CALLS):
            answer: dict[str, Any] = self._execute_module(
                module_name=self._task.action, module_args=arguments, task_vars=task_vars
            )
            wanted = answer.get("wanted")
            if answer.get("failed") or not wanted:
                return answer
            if wanted.get("list"):
                others = locked_wheels(Path(wheelhouse), arguments["requirements"] + arguments["uv_lock"])
                arguments["wheels"] += [{"name": path.name, "sha256": digest, "own": False} for digest, path in others.items()]
                arguments["listed"] = True
                sources |= others
            else:
                if "incoming" not in arguments:
                    arguments["incoming"] = str(self._make_tmp_path())
                self._send(arguments["incoming"], [(digest, sources[digest]) for digest in wanted["sha256"]])
        raise AnsibleActionFail("the host lacks wheels that were sent to it; is its disk sound?")

    def _send(self, folder: str, wheels: list[tuple[str, Path]]) -> None:
        """Copy files into a temporary directory of the login user, each named by its sha256."""
        for digest, path in wheels:
            if (found := sha256(path)) != digest:
                raise AnsibleActionFail(
                    f"Hash mismatch for {path.name}: expected sha256 {digest}, the file on the controller has {found}"
                )
            try:
                self._transfer_file(str(path), f"{folder}/{digest}")
            except (AnsibleError, OSError) as error:
                raise AnsibleActionFail(f"the wheel {path.name} can't be sent to the host: {error}") from error


def locked_wheels(folder: Path, locks: str) -> Mapping[str, Path]:
    """The wheels of a directory that the locks name, by their sha256."""
    if not folder.is_dir():
        raise AnsibleActionFail(f"there is no wheelhouse at {folder} on the controller")
    locked = set(_LOCKED.findall(locks))
    found = {}
    for path in sorted(folder.glob("*.whl")):
        if (digest := sha256(path)) in locked:
            found[digest] = path
    return found


def sha256(path: Path) -> str:
    """A file's digest in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
