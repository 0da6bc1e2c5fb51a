"""Files that are no plain files, or too large, or in which YAML hides what its reader stumbles over."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from ddtree_ops.cli.inputs import release_of
from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.gate_files import read_prompts
from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.fleet.regular_file import read_regular
from ddtree_ops.fleet.release import one_wheel, read_wheel
from ddtree_ops.fleet.spec import ServingSpec

SERVING = "ddtree_hardware: rtx-pro-6000-8x\nddtree_serving:\n  model: {path: /m}\n"
VALUES = [
    "!!bool maybe",
    '!!int ""',
    '!!int "+"',
    '!!float ""',
    "!!timestamp x",
    "!!binary ä",
    "!!seq x",
    "!!map x",
    "!!set x",
    "!!omap x",
    "!!python/name:os.system x",
    "2024-13-45",
    "9" * 5000,
    "0x" + "f" * 5000,
    "1" + ":1" * 3000,
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("text", ["a: 1\nx: {}\n", "a: 1\n? {}\n: y\n", "a: 1\nx: [1, {{? {} : y}}]\n"])
def test_what_pyyaml_stumbles_over_is_a_mistake_of_that_line(tmp_path: Path, value: str, text: str) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "all.yml").write_text(text.format(value))
    (tmp_path / "hosts.yml").write_text("all: {hosts: {a: }}\n")
    with pytest.raises(InvalidInventory, match=r"group_vars/all\.yml:2: .*(quote it|leave the tag out|if it is text)"):
        load_fleet(tmp_path)


@pytest.mark.parametrize("value", VALUES)
def test_prompts_go_through_the_same_reader(tmp_path: Path, value: str) -> None:
    (tmp_path / "p.yml").write_text(f"- name: x\n  text: {value}\n")
    spec = ServingSpec.model_validate({"model": {"path": "/m"}, "gate": {"prompts": str(tmp_path / "p.yml")}})
    with pytest.raises(InvalidInventory, match=r"gate\.prompts: .*p\.yml"):
        read_prompts(spec)


@pytest.mark.parametrize("kind", ["fifo", "device", "endless", "folder", "large", "nul", "long"])
def test_only_plain_bounded_files_are_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        with path.open("wb") as stream:
            stream.truncate(2**40)
    paths = {"device": "/dev/zero", "endless": "/proc/self/pagemap", "nul": "/a\0b", "long": "/" + "x" * 300}
    with pytest.raises(InvalidInventory) as error:
        read_regular(Path(paths.get(kind, path)), 1000, key="some.key")
    assert error.value.message.startswith("some.key: ")
    assert error.value.hint


def test_a_file_of_just_the_size_and_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"y" * 1000)
    (tmp_path / "link").symlink_to("x")
    assert read_regular(tmp_path / "link", 1000) == b"y" * 1000


@pytest.mark.parametrize("name", ["hosts.yml", "group_vars/all.yml", "host_vars/a.yml"])
def test_a_fifo_in_an_inventory(tmp_path: Path, name: str) -> None:
    (tmp_path / "hosts.yml").write_text("all: {hosts: {a: }}\n")
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(InvalidInventory, match=rf"{name}:1: is a FIFO.*plain file"):
        load_fleet(tmp_path)


def test_links_that_lead_round_in_circles(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("all: {hosts: {a: }}\n")
    (tmp_path / "group_vars" / "all").mkdir(parents=True)
    for name in ("x", "y"):
        (tmp_path / "group_vars" / "all" / name).symlink_to(".")
    with pytest.raises(InvalidInventory, match=r"all/x:1: is a link to a folder that it lies in"):
        load_fleet(tmp_path)


@pytest.mark.parametrize("name", ["g" * 1000, "g\\0h"])
@pytest.mark.parametrize("text", ['"{}": {{hosts: {{a: }}}}\n', 'all: {{hosts: {{"{}": }}}}\n'])
def test_names_that_can_name_no_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "hosts.yml").write_text(text.format(name))
    with pytest.raises(InvalidInventory, match=r"hosts\.yml:1: .*(takes at most 240|NUL byte)"):
        load_fleet(tmp_path)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "sglang_ddtree-0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("x", "")
    monkeypatch.setattr("ddtree_ops.assets.wheels", lambda: tmp_path)


@pytest.mark.usefixtures("wheels")
@pytest.mark.parametrize(
    "line",
    [
        f"runtime: {{lock: {'x' * 300}}}",
        "runtime: {lock: FIFO}",
        "runtime: {wheels: [FIFO]}",
        "runtime: {lock: /dev/zero}",
        "runtime: {wheels: [/dev/zero]}",
        "secrets: {api_key: {file: FIFO}}",
        "secrets: {api_key: {file: /dev/zero}}",
        "secrets: {api_key: {file: ~no-such-user/x}}",
        f"secrets: {{api_key: {{file: /{'x' * 300}}}}}",
        'runtime: {wheels: ["/a\\0b.whl"]}',
        'runtime: {lock: "/a\\0b"}',
        'secrets: {api_key: {file: "/a\\0b"}}',
    ],
)
def test_special_files_and_impossible_paths_of_a_release(tmp_path: Path, line: str) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    path = tmp_path / "inventory" / "hosts.yml"
    path.parent.mkdir()
    serving = SERVING.replace("\n", "\n      ") + f"  {line.replace('FIFO', str(fifo))}\n"
    path.write_text(f"all:\n  hosts:\n    a:\n      {serving}")
    with pytest.raises(InvalidInventory, match=r"secrets|runtime|[Ff]ifo") as error:
        release_of(load_fleet(path).host("a"))
    assert str(error.value.message)


@pytest.mark.parametrize("pattern", ["/nowhere/x.whl", "/a\0b.whl", "/", "/usr/**", "/" + "x" * 300])
def test_wheels_that_are_none(pattern: str) -> None:
    with pytest.raises(InvalidInventory):
        read_wheel(one_wheel(pattern))
