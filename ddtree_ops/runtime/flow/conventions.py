"""What objects of a name are, where no annotation and no assignment tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from .kinds import NOTHING, Instance, Types
from .program import External, FunctionId, Program

_FILES = 30  # files from which a convention is learned


class Conventions:
    """By the class of that name, or as parameters of that name are annotated elsewhere."""

    def __init__(self, program: Program, annotated: Callable[[FunctionId, tuple[str, ...]], Types]) -> None:
        self.program = program
        self._annotated = annotated
        self._known: dict[str, Types] = {}

    def of(self, name: str) -> Types:
        """What objects of this name are elsewhere: by the class of that name, or as parameters are annotated."""
        found = self._known.get(name)
        if found is None:
            self._known[name] = NOTHING
            found = self._known[name] = self._named(name) or self._learned(name)
        return found

    def _named(self, name: str) -> Types:
        plain = name.strip("_")
        if "_" not in plain or len(plain) > 60 or plain != plain.lower():
            return NOTHING
        classes = self.program.classes_named("".join(part.capitalize() for part in plain.split("_")))
        if not classes:
            return NOTHING
        return frozenset({Instance(min(classes, key=lambda each: (each.file.count("/"), each.file)))})

    def _learned(self, name: str) -> Types:
        if len(name) < 2 or name in ("self", "cls", "args", "kwargs"):
            return NOTHING
        votes: Counter[Types] = Counter()
        for file in self.program.files(name)[:_FILES]:
            facts = self.program.index.facts(file)
            for number in facts.names.get(name, ()):
                function = facts.function(number)
                for parameter in function.parameters:
                    if parameter[0] == name and parameter[2]:
                        votes[self._annotated(FunctionId(file, max(function.parent, 0)), parameter[2])] += 1
        del votes[NOTHING]
        (best, count), *_ = votes.most_common(1) or [(NOTHING, 0)]
        return (
            best if best and 5 * count >= 3 * votes.total() and not any(isinstance(each, External) for each in best) else NOTHING
        )
