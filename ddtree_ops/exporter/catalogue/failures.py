"""What triage of the journal found: counted once each, over restarts and over rotation of the journal."""

from __future__ import annotations

from ddtree_ops.exporter.metric import Subject

_JOURNAL = Subject("journal", ("port",), most=4)
_XIDS = Subject("kernel", ("gpu",), most=128)
_KERNEL = Subject("kernel")

TOTAL = _JOURNAL.counter(
    "failures_total",
    "Failures by kind and role (root, consequence, request, noise). For role root kinds start at 0: a first one is an increase.",
    "kind",
    "role",
    most=400,
)
LAST = _JOURNAL.gauge(
    "failure_last_timestamp_seconds",
    "When this failure was last seen, Unix time; the newest 20 fingerprints.",
    "fingerprint",
    "kind",
    "role",
    most=20,
)
COUNT = _JOURNAL.counter("failure_occurrences_total", "Occurrences by fingerprint, of the same 20.", "fingerprint", most=20)
INFO = _JOURNAL.gauge(
    "failure_info",
    "1; the cause and the first fix in words of ours, without text of the log. Root failures only.",
    "fingerprint",
    "kind",
    "cause",
    "fix",
    most=20,
)
LINES = _JOURNAL.counter("journal_lines_total", "Lines of the server's journal that were read.")
BEHIND = _JOURNAL.gauge("journal_read_timestamp_seconds", "Time of the newest journal entry that was taken in, Unix time.")
XID = _XIDS.counter(
    "kernel_xid_errors_total",
    "Xid messages of the NVIDIA driver in the kernel log; gpu by index where known, else its PCI address.",
    "xid",
)
XID_LAST = _XIDS.gauge("kernel_xid_last_timestamp_seconds", "When this Xid was last seen, Unix time.", "xid")
OOM = _KERNEL.counter(
    "kernel_oom_kills_total", "Kernel OOM kills: of the server's processes (server) or of others (other).", "victim", most=4
)
