"""Jedi's find-references of a field, given as tree, file and name: where it is mentioned, not where its value goes."""

import sys
from pathlib import Path

import jedi

root, file, name = Path(sys.argv[1]), Path(sys.argv[1], sys.argv[2]), sys.argv[3]
lines = file.read_text().split("\n")
line = next(number for number, text in enumerate(lines, 1) if text.strip().startswith(f"{name}:"))
found = jedi.Script(path=file, project=jedi.Project(root)).get_references(line, lines[line - 1].index(name))
sys.stdout.write(f"{len(found)} references\n")
