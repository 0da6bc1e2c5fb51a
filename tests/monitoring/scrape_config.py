"""Renders the scrape configuration as role `monitoring` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2

TEMPLATE = Path(__file__).parents[2] / "dashboards" / "prometheus" / "scrape.yml.j2"


def render(**variables: Any) -> str:
    """The configuration as text. Ansible's template module trims the line break behind a block, and has `to_json`."""
    environment = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)  # noqa: S701
    environment.filters["to_json"] = json.dumps
    named = {f"monitoring_{name}": value for name, value in variables.items()}
    return environment.from_string(TEMPLATE.read_text()).render(named)
