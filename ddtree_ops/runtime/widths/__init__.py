"""Token widths of a speculative runtime, read from its source."""

from ddtree_ops.runtime.widths.resolve import Provider, Widths, resolve
from ddtree_ops.runtime.widths.sources import package_of
from ddtree_ops.runtime.widths.terms import Base, Place, Term

__all__ = ["Base", "Place", "Provider", "Term", "Widths", "package_of", "resolve"]
