"""The text of a release's unit, as the role will render it. Loaded only where one is compared: Jinja takes 20 ms."""

from __future__ import annotations

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from ddtree_ops.fleet import places
from ddtree_ops.fleet.release import Release


def rendered(release: Release) -> str | None:
    """What Ansible makes of the template (trim_blocks is its default); None for a template that Jinja can't render."""
    environment = SandboxedEnvironment(trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined, autoescape=False)
    try:
        return environment.from_string(release.inputs.unit_template).render(
            service_user=places.SERVICE_USER,
            service_root=places.ROOT,
            service_drain_s=int(release.spec.drain),
            service_load_budget_s=int(release.spec.load_budget),
            release_credentials=[{"name": name} for name in sorted(release.spec.secrets)],
        )
    except TemplateError:
        return None
