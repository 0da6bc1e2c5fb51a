"""Source trees that mean harm: whatever stands beside it, the sound module's answer comes, soon, and the bad file is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ddtree_ops.runtime.source.index import build
from ddtree_ops.runtime.source.tree import open_tree
from ddtree_ops.runtime.trace import reaches, trace
from tests.hang import ends

SOUND = """
class Args:
    width: int = 8
    other: int = 2

class Runner:
    def __init__(self, args: Args):
        self.width_of_runner = args.width * 2
"""


def _deep_parentheses() -> bytes:
    return b"x = " + b"(" * 5000 + b"1" + b")" * 5000


def _long_sum() -> bytes:
    return b"width = " + b" + ".join([b"width"] * 30_000)


def _deep_attributes() -> bytes:
    return b"y = a" + b".width" * 20_000


def _deep_calls() -> bytes:
    return b"z = " + b"f(" * 3000 + b"width" + b")" * 3000


def _many_lines() -> bytes:
    return b"".join(b"def f%d(width): return width + %d\n" % (n, n) for n in range(8_000))


def _huge_literal() -> bytes:
    return b"TABLE = {" + b", ".join(b"'k%d': width" % n for n in range(20_000)) + b"}\n"


def _long_line() -> bytes:
    return b"TEXT = '" + b"width " * 500_000 + b"'\n"


def _inheritance_cycle() -> bytes:
    return b"class A(B):\n    width = 1\nclass B(C):\n    pass\nclass C(A):\n    def f(self): return super().f() + self.width\n"


def _endless_calls() -> bytes:
    return b"def f(width): return g(width + 1)\ndef g(width): return f(width) or g(g)\nout = f(f(g(Args.width)))\n"


def _nested_functions() -> bytes:
    return b"".join(b" " * n + b"def f%d(width):\n" % n for n in range(95)) + b" " * 95 + b"return width\n"


def _if_chain() -> bytes:
    return b"if width == 0: pass\n" + b"".join(b"elif width == %d: y = %d\n" % (n, n) for n in range(2500))


FILES: dict[str, Callable[[], bytes]] = {
    "null_bytes": lambda: b"width = 1\x00\n",
    "bad_utf8": lambda: b"width = '\xff\xfe'\n",
    "unknown_coding": lambda: b"# -*- coding: no-such -*-\nwidth = 1\n",
    "latin1": lambda: b"# -*- coding: latin-1 -*-\nname = '\xe9'\n",
    "no_python": lambda: b"this is not python (width\n",
    "empty": lambda: b"",
    "escape_sequences": lambda: b"width = '\x1b[2J\x1b]0;title\x07'\n",
    "deep_parentheses": _deep_parentheses,
    "long_sum": _long_sum,
    "deep_attributes": _deep_attributes,
    "deep_calls": _deep_calls,
    "many_lines": _many_lines,
    "huge_literal": _huge_literal,
    "long_line": _long_line,
    "inheritance_cycle": _inheritance_cycle,
    "endless_calls": _endless_calls,
    "nested_functions": _nested_functions,
    "if_chain": _if_chain,
}


@pytest.mark.parametrize("kind", FILES)
def test_a_bad_file_hides_nothing_and_holds_nothing_up(kind: str, tmp_path: Path) -> None:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "sound.py").write_text(SOUND)
    (package / "bad.py").write_bytes(FILES[kind]())
    _answered(tmp_path)


def test_links_in_a_circle_and_out_of_the_tree(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    package = root / "sglang"
    package.mkdir(parents=True)
    (package / "sound.py").write_text(SOUND)
    (package / "circle").symlink_to(package)
    (package / "self.py").symlink_to(package / "self.py")
    secret = tmp_path / "outside.py"
    secret.write_text("class Outside:\n    def __init__(self, args):\n        self.stolen = args.width\n")
    (package / "out.py").symlink_to(secret)
    (package / "gone.py").symlink_to(tmp_path / "nowhere.py")
    answer = _answered(root)
    assert "stolen" not in str(answer)


def _answered(root: Path) -> dict[str, object]:
    with ends(60):
        index = build(open_tree(root), cache=None, workers=1)
        assert reaches(index, "Args.width", "Runner.width_of_runner").reaches
        assert not reaches(index, "Args.other", "Runner.width_of_runner").reaches
        return trace(index, "Args.width").as_data()
