"""Write docs/findings.md from what the checks themselves are made of. Run by `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "roles" / "preflight" / "files"))

from ddtree_preflight import kinds_gpu, kinds_host, kinds_stack
from ddtree_preflight.catalogue import Kind

HEAD = """\
# Findings

What `ddtree-ops plan` and `deploy` look at on a host, before anything is loaded: one read-only program, which role
`preflight` runs, too. An **error** refuses the deploy, since it would break or answer wrongly, certainly or nearly so; a
**warning** is shown; a **note** is in `--format json` and `--verbose` only. The first severity of a finding is the usual one.
`ddtree_serving.waivers` takes ids, with a reason and a date. This page is generated: `make docs`.
"""
SPEC = Path(__file__).with_name("findings-of-the-spec.txt")  # they are in several modules: a test holds that none is missing
FOOT = """\
## Sources

MG: https://github.com/magik6k/glm-kimi-sm120-rtx6000bw; RK: https://github.com/local-inference-lab/rtx6kpro (rk#: its issues);
KS: https://github.com/soulmachine/skills (deploy-kimi-k26-on-rtx-pro-6000); club: https://github.com/noonghunna/club-3090;
siderolabs: https://github.com/siderolabs/extensions/pull/717; XID: https://docs.nvidia.com/deploy/xid-errors/; sgl#, nccl#:
issues of sgl-project/sglang and NVIDIA/nccl. C1, C4, C10, C13 are contradictions between sources: such a finding only warns.
"""
PARTS = (("GPUs and what joins them", kinds_gpu), ("The machine", kinds_host), ("What the server is made of", kinds_stack))


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, module in PARTS:
        kinds = [Kind(*row) for row in module.ROWS]
        rows = [f"| {' | '.join(_cells(kind))} |" for kind in kinds]
        parts += [f"## {title}\n", "| id | severity | asked | why | fix | source |", "|---|---|---|---|---|---|", *rows, ""]
    return "\n".join([*parts, SPEC.read_text(), FOOT]).replace("\n\n\n", "\n\n")


def _cells(kind: Kind) -> tuple[str, ...]:
    name = f"`{kind.id}`" + (" (`--probe`)" if kind.probe else "")
    return name, " / ".join(kind.severities), kind.asks, kind.why, kind.fix, kind.source


if __name__ == "__main__":
    Path(__file__).with_name("findings.md").write_text(page())
