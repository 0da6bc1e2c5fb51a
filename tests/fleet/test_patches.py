"""`runtime.patches` on the controller: read whole by the host's parser, and refused there with host, key, file and line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet import patch_format
from ddtree_ops.fleet.patch_format.diffs import MOST_BYTES
from ddtree_ops.fleet.patches import read_patches

GOOD = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
ON_HOST = Path(__file__).resolve().parents[2] / "deploy/runtime/sglang_ddtree/src/sglang_ddtree/patching"
REFUSED = {
    "rename": (GOOD + "diff --git a/y b/z\nsimilarity index 100%\nrename from y\nrename to z\n", r":9: renames a file"),
    "out_of_the_tree": (GOOD + "--- a/../y\n+++ b/../y\n@@ -1 +1 @@\n-a\n+b\n", r":7: leaves the tree"),
    "garbage": (GOOD + "garbage\n", r":7: a line that belongs to no file's diff"),
    "header_alone": (GOOD + "diff --git a/y b/y\n", r":7: announces a change"),
    "cut_off": (GOOD[:-3], r":5: the patch ends in the middle of a hunk"),
    "empty": ("", ": holds no unified diff"),
    "prose": ("hello\n", ": holds no unified diff"),
    "too_many_lines": ("\n" * 1_000_001, ": has more than 1000000 lines"),
    "too_large": (" " * (MOST_BYTES + 1), f": .*{MOST_BYTES} bytes"),
}


@pytest.mark.parametrize(("text", "says"), REFUSED.values(), ids=REFUSED)
def test_what_the_host_would_refuse_is_refused_here(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "p.diff").write_text(text)
    with pytest.raises(InvalidInventory, match=rf"^b300: runtime\.patches: .*/p\.diff{says}") as caught:
        read_patches(["p.diff"], tmp_path, "b300")
    assert caught.value.exit_code == 2


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in ("fifo", "/dev/zero", ".", "none"):
        with pytest.raises(InvalidInventory, match=r"^b300: runtime\.patches: "):
            read_patches([path], tmp_path, "b300")


def test_controller_and_host_read_with_the_same_files() -> None:
    for module in Path(patch_format.__file__).parent.glob("[a-z]*.py"):
        assert (ON_HOST / module.name).resolve() == module.resolve()
