"""What nvidia-smi prints, as data. Names of elements: `nvidia-smi -q -x` of 570 to 610 (nvsmi_device_v12 and v13)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.etree import ElementTree

# Most of the text: every clock of every GPU.
_CLOCKS = re.compile(r"<supported_clocks>.*?</supported_clocks>", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")
_LINK = re.compile(r"\s*Link ([0-9]{1,3}): (.*)")


@dataclass(frozen=True)
class Process:
    """A process on a GPU; `mib` is None where the driver doesn't say (a container)."""

    pid: int
    kind: str
    name: str
    mib: int | None


@dataclass(frozen=True)
class Gpu:
    """One GPU of `nvidia-smi -q -x`: text by path, such as `pci/pci_gpu_link_info/pcie_gen/max_link_gen`."""

    index: int
    bus: str
    values: dict[str, str] = field(default_factory=dict)
    processes: tuple[Process, ...] = ()

    def text(self, path: str) -> str:
        """Empty for what isn't there or has no meaning here."""
        value = self.values.get(path, "")
        return "" if value in ("N/A", "[N/A]", "Requested functionality has been deprecated") else value

    def number(self, path: str) -> float | None:
        found = _NUMBER.match(self.text(path))
        return float(found[0]) if found else None

    @property
    def label(self) -> str:
        return f"GPU {self.index}"


@dataclass(frozen=True)
class Report:
    """The whole document; versions as the driver says them."""

    driver: str
    cuda: str
    gpus: tuple[Gpu, ...]


def report(text: str) -> Report:
    """Of `nvidia-smi -q -x`. Raises ValueError for what is no such document."""
    start = text.find("<nvidia_smi_log")
    if start < 0 or "<!ENTITY" in text:
        raise ValueError("no nvidia_smi_log")
    try:
        root = ElementTree.fromstring(_CLOCKS.sub("", text[start:]))  # noqa: S314  the driver's own, without entities
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    gpus = tuple(_gpu(index, node) for index, node in enumerate(root.findall("gpu")))
    return Report(root.findtext("driver_version") or "", root.findtext("cuda_version") or "", gpus)


def _gpu(index: int, node: ElementTree.Element) -> Gpu:
    values: dict[str, str] = {}
    for child in node:
        if child.tag not in ("processes", "accounted_processes"):
            _flatten(child, child.tag, values)
    processes = tuple(_process(one) for one in node.findall("processes/process_info"))
    return Gpu(index, node.get("id") or "", values, processes)


def _flatten(node: ElementTree.Element, path: str, into: dict[str, str]) -> None:
    for child in node:
        _flatten(child, f"{path}/{child.tag}", into)
    if len(node) == 0:
        into[path] = (node.text or "").strip()


def _process(node: ElementTree.Element) -> Process:
    pid, mib = (_NUMBER.match(node.findtext(name) or "") for name in ("pid", "used_memory"))
    name = node.findtext("process_name") or ""
    return Process(int(float(pid[0])) if pid else 0, node.findtext("type") or "", name, int(float(mib[0])) if mib else None)


def matrix(text: str) -> dict[tuple[str, str], str]:
    """`nvidia-smi topo -m` or `-p2p r`: {("GPU0", "GPU1"): "NV18"}, other devices left out."""
    found: dict[tuple[str, str], str] = {}
    columns: list[str] = []
    for line in text.splitlines():
        # Underlined by terminal sequences in some versions.
        words = re.sub(r"\x1b\[[0-9;]*m", "", line).split()
        if not words:
            continue
        if not columns:
            columns = [word for word in words if re.fullmatch(r"(GPU|NIC)[0-9]{1,3}", word)]
        elif re.fullmatch(r"GPU[0-9]{1,3}", words[0]):
            cells = zip(columns, words[1:])
            found.update({(words[0], column): cell for column, cell in cells if column.startswith("GPU")})
    return found


def links(text: str) -> dict[str, dict[int, str]]:
    """`nvidia-smi nvlink -s`: {"GPU 0": {0: "53.125 GB/s", 1: "<inactive>"}}."""
    found: dict[str, dict[int, str]] = {}
    gpu = ""
    for line in text.splitlines():
        link = _LINK.match(line)
        if line.startswith("GPU "):
            gpu = line.split(":", 1)[0]
            found[gpu] = {}
        elif link and gpu:
            found[gpu][int(link[1])] = link[2].strip()
    return found
