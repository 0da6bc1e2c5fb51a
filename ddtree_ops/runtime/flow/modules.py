"""Files, modules and names of a source tree, resolved when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from ddtree_ops.runtime.extract.facts import Body, Class, FileFacts, Function

_STAR_IMPORTS = 12
_HOPS = 12  # re-exports that are followed


class FunctionId(NamedTuple):
    """A function of a file; number 0 is the module itself."""

    file: str
    number: int


class ClassId(NamedTuple):
    """A class of a file."""

    file: str
    number: int


class Variable(NamedTuple):
    """A name of a function's, class body's or module's own."""

    function: FunctionId
    name: str


class ModuleFile(NamedTuple):
    """A module of the tree."""

    file: str


class External(NamedTuple):
    """Something that isn't in the tree: `torch.nn.Module`."""

    dotted: str


Symbol = Variable | FunctionId | ClassId | ModuleFile | External


class HasName(Protocol):
    """A file of a tree."""

    @property
    def name(self) -> str: ...
    def read(self) -> bytes: ...


class HasFiles(Protocol):
    """A tree: its root as given, its version, its files."""

    @property
    def root(self) -> str: ...
    @property
    def version(self) -> str | None: ...
    @property
    def files(self) -> Iterable[HasName]: ...


class Facts(Protocol):
    """The index as the analysis uses it (runtime.source.index.Index has it)."""

    def __hash__(self) -> int: ...
    @property
    def tree(self) -> HasFiles: ...
    @property
    def unreadable(self) -> tuple[tuple[str, str], ...]: ...
    def names(self, name: str) -> Iterable[str]: ...
    def every_name(self) -> Iterable[str]: ...
    def facts(self, file: str) -> FileFacts: ...


class Modules:
    """A tree's modules, and what names mean in them."""

    def __init__(self, index: Facts) -> None:
        self.index = index
        self._modules: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for file in index.tree.files:
            parts = tuple(file.name.removesuffix(".py").removesuffix("/__init__").split("/"))
            self._modules.setdefault(parts[-1], []).append((parts, file.name))
        self._symbols: dict[tuple[FunctionId, str], Symbol | None] = {}
        self._members: dict[tuple[str, str], Symbol | None] = {}
        self._files: dict[str, tuple[str, ...]] = {}

    def files(self, name: str) -> tuple[str, ...]:
        """Files in which a name occurs."""
        found = self._files.get(name)
        if found is None:
            found = self._files[name] = tuple(self.index.names(name))
        return found

    def function(self, function: FunctionId) -> Function:
        """Its facts."""
        return self.index.facts(function.file).function(function.number)

    def body(self, function: FunctionId) -> Body:
        """What it does."""
        return self.index.facts(function.file).body(function.number)

    def klass(self, klass: ClassId) -> Class:
        """Its facts."""
        return self.index.facts(klass.file).klass(klass.number)

    def functions_with(self, name: str) -> Iterator[FunctionId]:
        """Functions in whose own code a name occurs."""
        for file in self.files(name):
            for number in self.index.facts(file).names.get(name, ()):
                yield FunctionId(file, number)

    def module(self, dotted: str, file: str) -> str | None:
        """The file of a module, named as in an import statement of `file`."""
        if dotted.startswith("."):
            return self._relative(dotted, file)
        parts = tuple(dotted.split("."))
        best: tuple[int, int, str] | None = None
        for own, name in self._modules.get(parts[-1], ()):
            shorter = min(len(own), len(parts))
            if own[-shorter:] != parts[-shorter:] or (shorter == 1 and len(parts) == 1 and len(own) > 1):
                continue
            rank = (shorter, -len(own), name)
            if best is None or rank > best:
                best = rank
        return best[2] if best else None

    def _relative(self, dotted: str, file: str) -> str | None:
        name = dotted.lstrip(".")
        level = len(dotted) - len(name)
        folder = file.split("/")[:-level]
        parts = (*folder, *name.split(".")) if name else tuple(folder)
        for own, candidate in self._modules.get(parts[-1], ()) if parts else ():
            if own == tuple(parts):
                return candidate
        return None

    def member(self, file: str, name: str, hops: int = 0) -> Symbol | None:
        """What a name means at the top of a module."""
        key = (file, name)
        if key not in self._members:
            self._members[key] = None  # a circle of imports ends here
            self._members[key] = self._member(file, name, hops)
        return self._members[key]

    def _member(self, file: str, name: str, hops: int) -> Symbol | None:
        facts = self.index.facts(file)
        if facts.problem or hops > _HOPS:
            return None
        top = FunctionId(file, 0)
        if name in facts.names:
            body = facts.body(0)
            if name in body.inner:
                kind, number = body.inner[name]
                return FunctionId(file, number) if kind == "def" else ClassId(file, number)
            if name in facts.imports:
                return self._imported(file, *facts.imports[name], hops)
            if name in body.local or self._is_declared_global(file, name):
                return Variable(top, name)
        sub = self.module(f"{_dotted(file)}.{name}", file) if file.endswith("__init__.py") else None
        if sub is not None:
            return ModuleFile(sub)
        return self._starred(file, facts, name, hops)

    def _starred(self, file: str, facts: FileFacts, name: str, hops: int) -> Symbol | None:
        stars = [module for key, (module, _) in facts.imports.items() if key.startswith("*")]
        for module in stars[:_STAR_IMPORTS]:
            source = self.module(module, file)
            found = self.member(source, name, hops + 1) if source and source != file else None
            if found is not None:
                return found
        return None

    def _is_declared_global(self, file: str, name: str) -> bool:
        """`global NAME` in a function, without an assignment at the top."""
        facts = self.index.facts(file)
        for number in facts.names.get(name, ()):
            body = facts.body(number)
            if number and name not in body.local and any(flow[1] == name for flow in body.flows):
                return True
        return False

    def _imported(self, file: str, module: str, name: str | None, hops: int) -> Symbol | None:
        if name is None:
            source = self.module(module, file)
            return ModuleFile(source) if source else External(module)
        source = self.module(module, file)
        if source is not None and source != file:
            found = self.member(source, name, hops + 1)
            if found is not None:
                return found
        below = self.module(f"{module}.{name}" if not module.endswith(".") else f"{module}{name}", file)
        if below is not None:
            return ModuleFile(below)
        return External(f"{module}.{name}") if source is None else None

    def symbol(self, function: FunctionId, name: str) -> Symbol | None:
        """What a name means inside a function; None: a builtin, or unknown."""
        key = (function, name)
        if key not in self._symbols:
            self._symbols[key] = self._symbol(function, name)
        return self._symbols[key]

    def _symbol(self, function: FunctionId, name: str) -> Symbol | None:
        here, first = function, True
        while here.number > 0:
            facts, body = self.function(here), self.body(here)
            if first or facts.kind != "class":
                if name in body.inner:
                    kind, number = body.inner[name]
                    return FunctionId(here.file, number) if kind == "def" else ClassId(here.file, number)
                if name in body.imports:
                    return self._imported(here.file, *body.imports[name], 0)
                if name in body.local:
                    return Variable(here, name)
            here, first = FunctionId(here.file, facts.parent), False
        return self.member(function.file, name)

    def dotted(self, function: FunctionId, dotted: str) -> Symbol | None:
        """What `a.b.C` means inside a function."""
        parts = dotted.split(".")
        found = self.symbol(function, parts[0])
        for part in parts[1:]:
            if isinstance(found, ModuleFile):
                found = self.member(found.file, part)
            elif isinstance(found, ClassId):
                inner = self.body(FunctionId(found.file, self.klass(found).scope)).inner.get(part)
                found = ClassId(found.file, inner[1]) if inner and inner[0] == "class" else None
            elif isinstance(found, External):
                found = External(f"{found.dotted}.{part}")
            else:
                return None
        return found


def _dotted(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
