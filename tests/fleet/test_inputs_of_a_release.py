"""Patches and manifests that a spec names: read from beside the inventory, part of the release (patches) or not (manifests)."""

from __future__ import annotations

import base64
import os
import zipfile
from pathlib import Path

import pytest

from ddtree_ops.cli.inputs import release_of
from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.inventory import Host, load_fleet

DIFF = b"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\r\n+b\r\n"
HOSTS = """all:
  hosts:
    ct200:
      ddtree_hardware: rtx-pro-6000-8x
      ddtree_serving:
        model: {{path: /srv/m{manifest}}}
"""


@pytest.fixture(autouse=True)
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "sglang_ddtree-0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("x", "")
    monkeypatch.setattr("ddtree_ops.assets.wheels", lambda: tmp_path)


def host(tmp_path: Path, manifest: str = "", patches: str = "") -> Host:
    folder = tmp_path / "inventory"
    for name in ("patches", "manifests"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "patches" / "a b.diff").write_bytes(DIFF)
    (folder / "patches" / "no.diff").write_text("hello\n")
    (folder / "manifests" / "m").write_text("0" * 64 + "  {{ x }}\n")
    text = HOSTS.format(manifest=f", manifest: '{manifest}'" if manifest else "")
    (folder / "hosts.yml").write_text(text + (f"        runtime: {{patches: [{patches}]}}\n" if patches else ""))
    return load_fleet(folder).host("ct200")


def test_a_patch_is_part_of_the_release_by_its_content(tmp_path: Path) -> None:
    plain = release_of(host(tmp_path))
    patched = release_of(host(tmp_path, patches="patches/a b.diff"))
    assert plain.id != patched.id
    (patch,) = patched.role_variables()["release_patches"]
    assert base64.b64decode(patch["content"]) == DIFF
    assert patched.manifest_seed()["patches"] == [{"name": "a_b.diff", "sha256": patch["sha256"]}]
    (tmp_path / "inventory" / "patches" / "a b.diff").write_bytes(DIFF.replace(b"+b", b"+c"))
    assert release_of(load_fleet(tmp_path / "inventory").host("ct200")).id != patched.id


@pytest.mark.parametrize("path", ["patches/none.diff", "patches/no.diff", "patches"])
def test_a_patch_that_is_none_is_refused_at_once(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidInventory, match=r"runtime\.patches: .*patches"):
        release_of(host(tmp_path, patches=path))


def test_a_manifest_from_beside_the_inventory_does_not_change_the_release(tmp_path: Path) -> None:
    release = release_of(host(tmp_path, manifest="manifests/m"))
    assert release.id == release_of(host(tmp_path)).id
    (manifest,) = release.role_variables()["model_manifests"]
    assert base64.b64decode(manifest.pop("content")).decode() == "0" * 64 + "  {{ x }}\n", "Ansible sees no braces"
    assert manifest == {"model": "/srv/m", "file": None, "blobs": False}


def test_a_manifest_that_lies_with_the_model_and_the_names_of_a_cache(tmp_path: Path) -> None:
    (beside,) = release_of(host(tmp_path, manifest="{model}/./SHA256SUMS")).inputs.model_manifests
    assert (beside.file, beside.text, beside.blobs) == ("SHA256SUMS", None, False)
    (blobs,) = release_of(host(tmp_path, manifest="{blobs}")).inputs.model_manifests
    assert (blobs.file, blobs.text, blobs.blobs) == (None, None, True)


def test_a_manifest_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInventory, match=r"^model\.manifest: .*manifests/none: can't be read"):
        release_of(host(tmp_path, manifest="manifests/none"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\n\nhello\n", "line 3 is no line of sha256sum"),
        ("[" * 100_000, "too deeply"),
        ('{"x": 1}', "'x' has none"),
        ("", "no files"),
    ],
)
def test_a_list_that_the_host_could_not_use_is_refused_here(tmp_path: Path, text: str, says: str) -> None:
    chosen = host(tmp_path, manifest="manifests/bad")
    (tmp_path / "inventory" / "manifests" / "bad").write_text(text)
    with pytest.raises(InvalidInventory, match=rf"^model\.manifest: .*manifests/bad: .*{says}"):
        release_of(chosen)


def test_a_manifest_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in ("/dev/zero", f"{tmp_path}/fifo", "manifests"):
        with pytest.raises(InvalidInventory, match=r"^model\.manifest: .*not a regular file"):
            release_of(host(tmp_path, manifest=path))
