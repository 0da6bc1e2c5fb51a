"""Memory of a serving configuration: shapes from config.json, formulae, an estimate."""

from ddtree_ops.runtime.memory.estimate import Estimate, Line, Model, estimate
from ddtree_ops.runtime.memory.settings import Measured, MemorySettings
from ddtree_ops.runtime.memory.shape import ModelShape, shape_of

__all__ = ["Estimate", "Line", "Measured", "MemorySettings", "Model", "ModelShape", "estimate", "shape_of"]
