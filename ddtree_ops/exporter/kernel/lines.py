"""What the kernel's lines say of GPUs and of killed processes, line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ddtree_ops.exporter.gpus.pci import PciAddress

#: What a line holds that matters here (for the sieve).
WORDS = re.compile(rb"Xid \(|oom-kill:|memory\.oom\.group|Killed process|Kill process|invoked oom-killer")
SERVER, OTHER = "server", "other"

# the driver's own prefix and the number as printed: that of a consequence counts as such (the cause has a line of its own)
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]{4,20})[^)]{0,80}\): (?P<number>\d{1,4})\b")
_SXID = re.compile(r"nvidia-nvswitch\d{1,3}: SXid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]{4,20})\): (?P<number>\d{4,6})\b")
# mm/oom_kill.c, dump_oom_summary() (since 5.0), and mem_cgroup_print_oom_group()
_CHOSEN = re.compile(r"oom-kill:constraint=.{0,4000}?\btask_memcg=(?P<cgroup>[^,]{0,1000}),task=.{0,64}?,pid=(?P<pid>\d{1,10})")
_GROUP = re.compile(r"Tasks in (?P<cgroup>\S{1,1000}) are going to be killed due to memory\.oom\.group set")
_KILLED = re.compile(r".{0,64}?Kill(?:ed)? process (?P<pid>\d{1,10})(?:, UID \d{1,10},)? ?\((?P<name>.{0,64}?)\)")
_BEGINS = re.compile(r".{1,64}? invoked oom-killer: ")
# older kernels say "Kill process" first and "Killed process" then
_ANNOUNCED = re.compile(r".{0,64}?Kill process \d")
_OURS = re.compile(r"/ddtree-server@\d{1,5}\.service(?:/|$)")
_OUR_NAME = re.compile(r"sglang(?:::|\b)")
_CHOSEN_LIMIT = 32
_LONGEST = 16


@dataclass(frozen=True, slots=True)
class Xid:
    """One message: the GPU's PCI address in short, and the number; `S` before that of an NVSwitch."""

    pci: str
    number: str


@dataclass(slots=True)
class Victims:
    """Whose processes were killed. `chosen`: what was said of processes whose end wasn't told yet, by process id."""

    chosen: dict[int, str] = field(default_factory=dict)
    group: str | None = None

    def take(self, words: str) -> str | None:
        """A line; `server` or `other` where it tells that a process was killed."""
        found = _CHOSEN.match(words)
        if found:
            self.group = None
            self.chosen.pop(int(found["pid"]), None)
            self.chosen[int(found["pid"])] = _whose(found["cgroup"])
            while len(self.chosen) > _CHOSEN_LIMIT:
                del self.chosen[next(iter(self.chosen))]
            return None
        found = _GROUP.match(words)
        if found:
            self.group = _whose(found["cgroup"])
        elif _BEGINS.match(words):
            self.group = None
        found = _KILLED.match(words)
        if found is None or _ANNOUNCED.match(words):
            return None
        named = SERVER if _OUR_NAME.match(found["name"]) else OTHER
        return self.chosen.pop(int(found["pid"]), None) or self.group or named


def read_xid(words: str) -> Xid | None:
    """The driver's message in a line of the kernel's."""
    found = _XID.match(words)
    if found:
        return Xid(_slot(found["pci"]), found["number"].lstrip("0") or "0")
    found = _SXID.match(words)
    return Xid(_slot(found["pci"]), "S" + found["number"]) if found else None


def _slot(written: str) -> str:
    """What is no address stays as it is, cut: the message counts all the same."""
    address = PciAddress.parse(written)
    return address.slot if address else written.lower()[:_LONGEST]


def _whose(cgroup: str) -> str:
    return SERVER if _OURS.search(cgroup) else OTHER
