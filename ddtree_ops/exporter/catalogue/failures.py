"""What triage of the journal found: counted once each, over restarts and over rotation of the journal."""

from __future__ import annotations

from ddtree_ops.exporter.metric import PREFIX, Metric, Type

TOTAL = Metric(
    PREFIX + "failures_total",
    Type.COUNTER,
    "Failures by kind and role (root, consequence, request, noise). For role root kinds start at 0: a first one is an increase.",
    "journal",
    ("port", "kind", "role"),
    most=400,
)
LAST = Metric(
    PREFIX + "failure_last_timestamp_seconds",
    Type.GAUGE,
    "When this failure was last seen, Unix time; the newest 20 fingerprints.",
    "journal",
    ("port", "fingerprint", "kind", "role"),
    most=20,
)
COUNT = Metric(
    PREFIX + "failure_occurrences_total",
    Type.COUNTER,
    "Occurrences by fingerprint, of the same 20.",
    "journal",
    ("port", "fingerprint"),
    most=20,
)
INFO = Metric(
    PREFIX + "failure_info",
    Type.GAUGE,
    "1; the cause and the first fix in words of ours, without text of the log. Root failures only.",
    "journal",
    ("port", "fingerprint", "kind", "cause", "fix"),
    most=20,
)
LINES = Metric(
    PREFIX + "journal_lines_total", Type.COUNTER, "Lines of the server's journal that were read.", "journal", ("port",), most=4
)
BEHIND = Metric(
    PREFIX + "journal_read_timestamp_seconds",
    Type.GAUGE,
    "Time of the newest journal entry that was taken in, Unix time.",
    "journal",
    ("port",),
    most=4,
)
XID = Metric(
    PREFIX + "kernel_xid_errors_total",
    Type.COUNTER,
    "Xid messages of the NVIDIA driver in the kernel log; gpu by index where known, else its PCI address.",
    "kernel",
    ("gpu", "xid"),
    most=128,
)
XID_LAST = Metric(
    PREFIX + "kernel_xid_last_timestamp_seconds",
    Type.GAUGE,
    "When this Xid was last seen, Unix time.",
    "kernel",
    ("gpu", "xid"),
    most=128,
)
OOM = Metric(
    PREFIX + "kernel_oom_kills_total",
    Type.COUNTER,
    "Kernel OOM kills: of the server's processes (server) or of others (other).",
    "kernel",
    ("victim",),
    most=4,
)

ALL = (
    TOTAL,
    LAST,
    COUNT,
    INFO,
    LINES,
    BEHIND,
    XID,
    XID_LAST,
    OOM,
)
