"""Declared parameters of a source tree: server arguments and environment variables, without importing it.

`declared` and `environment` read a tree; `problems` holds a command line against them; `compare` two trees, and `for_spec` what
the difference does to a command line; `explain` one parameter from the spec to the running server.
"""

from __future__ import annotations

from ddtree_ops.runtime.parameters.command_line import Setting, settings
from ddtree_ops.runtime.parameters.declared import declared
from ddtree_ops.runtime.parameters.differences import Changed, Differences, EnvironmentChanged, What, compare
from ddtree_ops.runtime.parameters.environment import environment
from ddtree_ops.runtime.parameters.explain import Explained, Known, Write, explain, find
from ddtree_ops.runtime.parameters.model import EnvironmentVariable, Parameter
from ddtree_ops.runtime.parameters.problem import Problem, ProblemKind
from ddtree_ops.runtime.parameters.problems import problems
from ddtree_ops.runtime.parameters.renames import Evidence, Renamed
from ddtree_ops.runtime.parameters.upgrade import Effect, EffectKind, for_spec

__all__ = [
    "Changed",
    "Differences",
    "Effect",
    "EffectKind",
    "EnvironmentChanged",
    "EnvironmentVariable",
    "Evidence",
    "Explained",
    "Known",
    "Parameter",
    "Problem",
    "ProblemKind",
    "Renamed",
    "Setting",
    "What",
    "Write",
    "compare",
    "declared",
    "environment",
    "explain",
    "find",
    "for_spec",
    "problems",
    "settings",
]
