"""Versions and hashes of a requirements file, read alike on both sides."""

from __future__ import annotations

from pathlib import Path

from ddtree_ops.fleet.release_changes import package_changes
from ddtree_ops.on_host.pins import of_release, pins

LOCK = """\
# made by uv
Torch==2.9.1 ; sys_platform == 'linux' \\
    --hash=sha256:{a} \\
    --hash=sha256:{b}
    # via sglang
typing.extensions==4.1
uvicorn[standard] == 0.3 \\
    --hash=sha256:{a}
numpy==1.0 ; python_version < '3.12'
numpy==2.0 ; python_version >= '3.12'
"""


def lock(a: str = "a", b: str = "b") -> str:
    return LOCK.format(a=a * 64, b=b * 64)


def test_names_are_normal_and_markers_give_both_versions() -> None:
    assert {name: pin[0] for name, pin in pins(lock()).items()} == {
        "torch": "2.9.1",
        "typing-extensions": "4.1",
        "uvicorn": "0.3",
        "numpy": "1.0 or 2.0",
    }


def test_what_stands_behind_belongs_to_no_package() -> None:
    """A release's own list ends with local wheels, each with a hash."""
    own = lock() + f"# Local wheels\nplugin @ file:///opt/w/plugin.whl --hash=sha256:{'c' * 64}\n"
    assert pins(own) == pins(lock())


def test_differences_of_versions_files_and_names() -> None:
    before = {name: (pin[0], pin[1]) for name, pin in pins(lock()).items()}
    after = pins(lock(b="d").replace("==4.1", "==4.2").replace("numpy", "pandas"))
    found = [(one.what, one.before, one.after) for one in package_changes(before, after)]
    assert found[:2] == [("package numpy", "1.0 or 2.0", None), ("package pandas", None, "1.0 or 2.0")]
    assert [one[0] for one in found[2:]] == ["package torch", "package typing-extensions"]
    assert str(found[2][1]).startswith("2.9.1 (") and found[2][1] != found[2][2]
    assert list(package_changes(before, pins(lock()))) == []


def test_a_release_of_the_host(tmp_path: Path) -> None:
    place = tmp_path / "releases" / "r"
    place.mkdir(parents=True)
    assert of_release(str(tmp_path), "r") is None
    (place / "requirements.txt").write_bytes(b"a==1\n\xff\x00b==2\nc==3\n")
    found = of_release(str(tmp_path), "r")
    assert found is not None
    assert {name: pin[0] for name, pin in found.items()} == {"a": "1", "c": "3"}
