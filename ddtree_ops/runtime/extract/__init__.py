"""The facts of one Python file from its syntax tree: what value goes where, found once and kept by the file's content.

`facts` tells the layout; `scope`, `values`, `calls`, `statements` and `definitions` gather it. Nothing is imported or run.
"""

from __future__ import annotations

import ast
import contextlib
import marshal
import sys
import warnings
from collections.abc import Iterator

from ddtree_ops.runtime.collection import without_collection

from .definitions import module_of
from .facts import FileFacts
from .scope import Module

__all__ = ["EXTRACTOR_VERSION", "FileFacts", "extract", "unknown"]

EXTRACTOR_VERSION = 200 + sys.version_info.minor
"""Differs whenever facts of the same content would: by 100 for each change here; Pythons don't read the same syntax."""
SIZE_LIMIT = 6 << 20
"""Bytes of a file that is still read: the largest of SGLang 0.5.23 has half a megabyte."""


def extract(name: str, content: bytes) -> FileFacts:
    """The facts of a file. Never raises for what stands in it: `problem` says why nothing is known of a file."""
    if len(content) > SIZE_LIMIT:
        return unknown(name, f"larger than {SIZE_LIMIT >> 20} MiB")
    try:
        with _quiet():
            return _packed(name, module_of(ast.parse(content)))
    except SyntaxError as error:
        return unknown(name, f"line {error.lineno}: {error.msg}")
    except RecursionError:
        return unknown(name, "nested too deep")
    except (ValueError, MemoryError) as error:
        return unknown(name, str(error) or "too large to parse")


def _packed(name: str, module: Module) -> FileFacts:
    names: dict[str, list[int]] = {}
    for scope in module.functions:
        number = scope.number
        for each in scope.names:
            known = names.get(each)
            if known is None:
                names[each] = [number]
            else:
                known.append(number)
    functions = tuple(scope.packed() for scope in module.functions)
    classes = tuple(klass.packed() for klass in module.classes)
    posted = marshal.dumps({each: tuple(numbers) for each, numbers in names.items()})
    return FileFacts((name, None, posted, functions, classes, module.imports, module.constants, tuple(module.flags)))


def unknown(name: str, problem: str) -> FileFacts:
    """Facts of a file of which nothing is known, and why."""
    """Facts of a file of which nothing is known, and why."""
    return FileFacts((name, problem, marshal.dumps({}), (), (), {}, {}, ()))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No warnings of the parser about escapes in foreign code, and no garbage collection of syntax trees."""
    with without_collection(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
