"""Where the numbers of a failure come from: the source tree asked, along the traceback's own frames. No file is opened here.

`sizing` finds what sized the operands of the raising line, `constants` what a plugin's own code makes of a number, `answer`
turns what `runtime.trace` says of both into the report's words.
"""

from __future__ import annotations

#: Kinds of events: one step of a parameter's path (text forms show only its ends); that the source wasn't asked, and why.
PARAMETER_TRACE, UNTRACED = "parameter_trace", "parameters_untraced"
