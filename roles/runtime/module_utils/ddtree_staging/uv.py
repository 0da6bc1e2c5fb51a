"""uv on the host: installed from its own hash lock, and the two things that it does for a release."""

from __future__ import annotations

import shutil
from pathlib import Path

from ansible.module_utils.ddtree_staging.index import PipConfig, uv_environment
from ansible.module_utils.ddtree_staging.order import Installation
from ansible.module_utils.ddtree_staging.programs import Failed, run
from ansible.module_utils.ddtree_staging.swap import flush_directory, flush_file_system

_NEW = ".new"
# What uv says when it gets no answer from an index, and when a file isn't the one that the lock means.
_UNREACHABLE = (
    "dns error",
    "Connection refused",
    "client error (Connect)",
    "operation timed out",
    "tcp connect error",
    "Connection reset",
)
_WRONG_HASH = "Hash mismatch"


class Uv:
    """uv of one version. `prepare` before anything else."""

    def __init__(self, order: Installation, lock: int) -> None:
        self._order = order
        self._lock = lock
        self._pip: PipConfig | None = None
        self._environment: dict[str, str] | None = None

    def prepare(self) -> None:
        """Install uv unless it is there, and begin to ask pip for the index. Raises Problem."""
        tools = self._order.tools
        if not (tools / "bin" / "uv").is_file():
            self._install(tools.with_name(tools.name + _NEW), tools)
        if not self._order.offline:
            self._pip = PipConfig(tools / "bin" / "python")

    def make_venv(self, venv: Path) -> None:
        """An empty virtual environment that may be renamed. Raises Problem."""
        argv = (
            "venv",
            "--quiet",
            "--relocatable",
            "--clear",
            "--no-project",
            "--no-config",
            "--python",
            self._order.python,
            str(venv),
        )
        self._uv("the virtual environment can't be made", argv, uv_environment(None))

    def sync(self, venv: Path, requirements: Path) -> None:
        """Install exactly the locked packages: by sha256, nothing is built, files are hard links into the cache.

        What the cache has is not asked of the index: the usual release needs neither a network nor pip's settings.
        """
        order = self._order
        argv = (
            *("pip", "sync", "--quiet", "--require-hashes", "--no-build", "--link-mode", "hardlink"),
            *("--cache-dir", str(order.cache), "--python", str(venv / "bin" / "python"), str(requirements)),
        )
        what = "the locked packages can't be installed"
        try:
            if order.offline:
                self._uv(what, (*argv, "--offline", "--no-index", "--find-links", str(order.wheelhouse)), uv_environment(None))
            elif not self._is_cached(what, argv):
                self._uv(what, argv, self._index())
        except Failed as error:
            raise self._explained(error) from error

    def _is_cached(self, what: str, argv: tuple[str, ...]) -> bool:
        if not any(self._order.cache.iterdir()):
            return False
        try:
            self._uv(what, (*argv, "--offline"), uv_environment(None))
        except Failed:
            return False
        return True

    def forget(self, packages: list[str]) -> None:
        """Remove packages from the cache: the next sync unpacks them anew. Raises Problem."""
        argv = ("cache", "clean", "--quiet", "--cache-dir", str(self._order.cache), *packages)
        self._uv("the package cache can't be cleaned", argv, uv_environment(None))

    def _index(self) -> dict[str, str]:
        if self._environment is None:
            self._environment = uv_environment(self._pip.read() if self._pip else None)
        return self._environment

    def _uv(self, what: str, argv: tuple[str, ...], environment: dict[str, str]) -> None:
        run((str(self._order.tools / "bin" / "uv"), *argv), what, self._lock, environment)

    def _install(self, new: Path, tools: Path) -> None:
        """Beside its place, and there by a rename: what a killed run has left is never taken for uv."""
        order = self._order
        for left in (new, tools):
            shutil.rmtree(left, ignore_errors=not left.exists())
        new.parent.mkdir(parents=True, exist_ok=True)
        run((order.python, "-m", "venv", str(new)), "the installer's environment can't be made", self._lock)
        source = ("--no-index", "--find-links", str(order.wheelhouse)) if order.offline else ()
        pip = (str(new / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        flags = ("--require-hashes", "--only-binary", ":all:", *source, "-r", "/dev/stdin")
        run((*pip, *flags), "uv can't be installed from its hash lock", self._lock, stdin=order.uv_lock)
        flush_file_system(new)
        new.rename(tools)
        flush_directory(tools.parent)

    def _explained(self, error: Failed) -> Failed:
        text = "\n".join(error.lines)
        if _WRONG_HASH in text:
            fix = "a file of the index or wheelhouse isn't the one that the lock names: nothing of it was installed"
        elif any(words in text for words in _UNREACHABLE):
            fix = "the package index can't be reached from the host; `pip config list` there says which it is"
        else:
            return error
        return Failed(f"{error.message}. {fix[0].upper()}{fix[1:]}", error.lines)
