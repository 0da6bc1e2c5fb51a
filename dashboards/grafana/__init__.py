"""Grafana dashboards, generated: `python -m dashboards.grafana` writes the JSON beside this file."""
