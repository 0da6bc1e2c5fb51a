"""Recognise Jinja templates. They are Ansible's to evaluate; where ddtree-ops needs the value itself, they are refused."""

from __future__ import annotations

import re

from ddtree_ops.fleet.nodes import ScalarNode

_MARKS = re.compile(r"\{\{|\{%|\{#")


def has_marks(text: object) -> bool:
    """Whether a text holds Jinja marks at all, `!unsafe` or not: on its way through our own variables the tag is lost."""
    return isinstance(text, str) and _MARKS.search(text) is not None


def is_template(node: ScalarNode) -> bool:
    """Whether Ansible would evaluate this text. `!unsafe` text never is a template."""
    return not node.unsafe and has_marks(node.value)
