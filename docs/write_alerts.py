"""Write Prometheus' rule files and docs/alerts.md from dashboards/prometheus/alerts. Run by `make docs`.

    python docs/write_alerts.py [--objectives FILE] [--runbooks URL] [--rules DIR]

With --rules only the rule files are written, there: for a site that has objectives or a place of the runbooks of its own.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ddtree_ops.triage.xids import Fault, Xid

PROJECT = Path(__file__).resolve().parents[1]
HOME = PROJECT / "dashboards" / "prometheus"
PAGE = PROJECT / "docs" / "alerts.md"
#: Where annotations say that the runbooks are; --runbooks is the one place to change it.
RUNBOOKS = "docs/alerts.md"
NOTES = ("summary", "cause", "fix", "command")
ORDER = ("seen", "crashes", "loading", "serving", "latency", "acceptance", "releases", "gpus", "hosts", "monitoring")
PLACE = re.compile(r"@\{([a-z_.]+)\}")
#: The factors of a burn rate: see the runbook of TimeToFirstTokenBurnsFast.
BURNS = {"fast": 14.4, "slow": 6.0}
HUMAN = (Fault.LOST, Fault.LINK, Fault.MEMORY, Fault.REMOTE_LINK, Fault.STUCK, Fault.RECOVERY)
APPLICATION = (Fault.ADDRESS, Fault.APPLICATION)


def values(objectives: Any) -> dict[str, str]:
    """What `@{name}` in a source stands for."""
    found = {f"{subject}.{key}": str(value) for subject, block in objectives.items() for key, value in block.items()}
    for subject in ("ttft", "inter_token"):
        seconds, allowed = float(objectives[subject]["seconds"]), 1 - float(objectives[subject]["share"])
        # exposition formats write a whole bound as 4.0 or as 4
        found[f"{subject}.le"] = f"{seconds:g}|{seconds}".replace(".", "[.]")
        found |= {f"{subject}.{name}": f"{factor * allowed:.6g}" for name, factor in BURNS.items()}
    numbers = {number: Xid("", number, None, "").fault for number in range(1, 1000)}
    for name, faults in (("human", HUMAN), ("application", APPLICATION), ("cleanup", (Fault.CLEANUP,))):
        found[f"xids.{name}"] = "|".join(str(number) for number, fault in numbers.items() if fault in faults)
    return found


def filled(text: str, names: dict[str, str]) -> str:
    """`text` with values in the places of its `@{names}`. Raises KeyError for a name that is none."""
    return PLACE.sub(lambda found: names[found[1]], text)


def rules(source: Path, names: dict[str, str], runbooks: str = RUNBOOKS) -> str:
    """One rule file, of the group that is named like its source."""
    content = yaml.safe_load(source.read_text())
    made: list[dict[str, Any]] = []
    for row in content.get("records", []):
        made += [
            {"record": filled(part["record"], there), "expr": filled(part["expr"], there)}
            for there in ({**names, "window": window} for window in row.get("windows", [""]))
            for part in ([row["before"]] if "before" in row else []) + [row]
        ]
    for row in content.get("alerts", []):
        notes = {key: filled(row[key].strip(), names) for key in NOTES}
        notes["runbook"] = f"{runbooks}#{row['alert'].lower()}"
        rule: dict[str, Any] = {"alert": row["alert"], "expr": filled(row["expr"], names)}
        rule |= {"for": row["for"]} if "for" in row else {}
        made.append(rule | {"labels": {"severity": row["severity"]}, "annotations": notes})
    group = {"name": source.stem} | ({"interval": content["interval"]} if "interval" in content else {})
    text = yaml.dump({"groups": [group | {"rules": made}]}, Dumper=_Dumper, sort_keys=False, width=4096, allow_unicode=True)
    return f"# Made from alerts/{source.name}, which has the reasons: edit that, then `make docs`.\n{text}"


class _Dumper(yaml.SafeDumper):
    """Expressions of several lines stay readable."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def page(names: dict[str, str]) -> str:
    """The whole of docs/alerts.md."""
    parts = [filled((HOME / "alerts.head.md").read_text(), names)]
    contents = [yaml.safe_load(source.read_text()) for source in sources()]
    rows = [row for content in contents for row in content.get("alerts", [])]
    lines = ["| alert | severity | waits | what |", "|---|---|---|---|"]
    for row in rows:
        link = f"[{row['alert']}](#{row['alert'].lower()})"
        lines.append(f"| {link} | {row['severity']} | {row.get('for', '')} | {row['what']} |")
    parts.append("\n".join(lines))
    for content in contents:
        if "alerts" in content:
            parts += [f"## {content['about']}", *(_section(row, names) for row in content["alerts"])]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _section(row: dict[str, str], names: dict[str, str]) -> str:
    command = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: found[1].upper(), row["command"])
    waits = f"Waits {row['for']}: {row['waits']}\n\n" if "for" in row else ""
    return filled(
        f"### {row['alert']}\n\n**{row['severity']}**. {row['what']}\n\n{row['why'].strip()}\n\n{waits}"
        f"    {command}\n\n{row['runbook'].strip()}\n\n"
        f"<details><summary>Expression</summary>\n\n```promql\n{row['expr'].strip()}\n```\n\n</details>",
        names,
    )


def sources() -> list[Path]:
    """The files that rules are made from, in the order of the page. Raises ValueError for one that ORDER lacks."""
    return sorted((HOME / "alerts").glob("*.yml"), key=lambda path: ORDER.index(path.stem))


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objectives", type=Path, default=HOME / "objectives.yml")
    parser.add_argument("--runbooks", default=RUNBOOKS)
    parser.add_argument("--rules", type=Path)
    given = parser.parse_args()
    names = values(yaml.safe_load(given.objectives.read_text()))
    for source in sources():
        ((given.rules or HOME / "rules") / source.name).write_text(rules(source, names, given.runbooks))
    if not given.rules:
        PAGE.write_text(page(names))


if __name__ == "__main__":
    main()
