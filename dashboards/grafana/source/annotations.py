"""Marks over all graphs: when deploys ended, when servers failed.

Prometheus annotations take four keys beside Grafana's published ones: expr's series are marked at `value` milliseconds with
useValueForTime; titleFormat, textFormat and tagKeys take labels (grafana, packages/grafana-prometheus/src/annotations.ts).
"""

from __future__ import annotations

from dataclasses import dataclass

from grafana_foundation_sdk.cog import builder as cog
from grafana_foundation_sdk.models import dashboard as model

from dashboards.grafana.source.queries import of_hosts
from dashboards.grafana.source.style import BAD, CALM, SOURCE

STEP = "60s"


class PrometheusAnnotation(model.AnnotationQuery):
    """An annotation whose times are the query's values. `target` is what newer versions ask, `expr` what older ones do."""

    def __init__(self, name: str, expr: str, title: str, text: str, color: str) -> None:
        super().__init__(name=name, datasource=SOURCE, enable=True, hide=False, icon_color=color, expr=expr)
        self.title = title
        self.text = text

    def to_json(self) -> dict[str, object]:
        """Grafana's published keys and Prometheus' own."""
        plain = {"limit": 100, "matchAny": False, "tags": [], "type": "dashboard"}
        return {
            **super().to_json(),
            "target": {**plain, "expr": self.expr, "refId": "Anno", "interval": STEP},
            "step": STEP,
            "titleFormat": self.title,
            "textFormat": self.text,
            "tagKeys": "host",
            "useValueForTime": True,
        }


@dataclass(frozen=True)
class Built(cog.Builder[model.AnnotationQuery]):
    """What the SDK's dashboard builder wants: something that builds an annotation."""

    annotation: model.AnnotationQuery

    def build(self) -> model.AnnotationQuery:
        """The annotation as it is."""
        return self.annotation


def marks() -> list[cog.Builder[model.AnnotationQuery]]:
    """Deploys and failures of the chosen hosts."""
    deploys = f"1000 * {of_hosts('ddtree_ops_deploy_last_timestamp_seconds')}"
    roots = of_hosts("ddtree_ops_failure_last_timestamp_seconds", 'role="root"')
    return [
        Built(PrometheusAnnotation("Deploys", deploys, "{{event}} on {{host}}: {{result}}", "", CALM)),
        Built(PrometheusAnnotation("Failures", f"1000 * {roots}", "{{host}}: {{kind}}", "fingerprint {{fingerprint}}", BAD)),
    ]
