"""Which unit the service manager speaks of, where only its text tells: a text form of journalctl has no fields.

The words are those of systemd 239 to 257 (src/core/unit.c, src/core/job.c, src/core/service.c): `UNIT: ...`, and
`Started UNIT - DESCRIPTION`; a manager that prints descriptions alone (StatusUnitFormat=description) names none there.
"""

from __future__ import annotations

import re

_UNIT = r"(?P<unit>[\w@:.\\-]{1,250}\.(?:service|scope|slice|socket|mount|timer|target|path|swap))"
_NAMED = re.compile(_UNIT + r":? (?=\S)")
_VERB = re.compile(
    r"(?:Start(?:ing|ed)|Stopp(?:ing|ed)|Reload(?:ing|ed)|Finish(?:ing|ed)|(?:Unm|M)ount(?:ing|ed)|Dependency failed for|Job"
    r"|Failed to (?:start|stop|mount|reload)) " + _UNIT + r"(?![\w@-])"
)


def manager_unit(message: str) -> str | None:
    """The unit that a message of PID 1, or of a child that it hasn't made the unit's program yet, is about."""
    text = message[:400]
    found = _NAMED.match(text) or _VERB.match(text)
    return found["unit"] if found else None
