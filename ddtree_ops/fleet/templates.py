"""Recognise Jinja templates. They are Ansible's to evaluate; where ddtree-ops needs the value itself, they are refused."""

from __future__ import annotations

import re

from ddtree_ops.fleet.nodes import ScalarNode

_MARKS = re.compile(r"\{\{|\{%|\{#")


def is_template(node: ScalarNode) -> bool:
    """Whether Ansible would evaluate this text. `!unsafe` text never is a template."""
    return isinstance(node.value, str) and not node.unsafe and _MARKS.search(node.value) is not None
