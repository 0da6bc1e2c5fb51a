"""Write the dashboards' JSON beside this file."""

from __future__ import annotations

from pathlib import Path

from dashboards.grafana.source.catalogue import rendered

for name, text in rendered().items():
    Path(__file__).with_name(name).write_text(text)
