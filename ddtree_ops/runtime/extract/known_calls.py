"""Calls of Python's own that hand a value on, or don't; by name, since a tree seldom redefines them."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The names in a text."""
    return frozenset(text.split())


HAND_ON = words(
    "abs bool bytes cast ceil complex deepcopy divmod float floor frozenset int iter list max min next pow range repr reversed "
    "round set sorted str sum tuple"
)
"""Functions whose value is made of their arguments' values."""
ELEMENTS = words("max min sum next")
"""With one argument: of its elements."""
NO_VALUE = words("len isinstance issubclass hasattr callable type id all any print hash")
"""Functions that only look at their arguments."""
_ARRAYS = words("ceil floor prod array asarray maximum minimum clip int32 int64 float32")
HAND_ON_OF = {
    "math": words("ceil floor trunc sqrt log log2 prod gcd lcm fabs fsum pow"),
    "np": _ARRAYS,
    "numpy": _ARRAYS,
    "copy": words("copy deepcopy"),
    "typing": words("cast"),
    "itertools": words("chain cycle islice"),
    "json": words("loads dumps"),
    "orjson": words("loads dumps"),
    "os.path": words("join abspath expanduser realpath normpath"),
    "triton": words("cdiv next_power_of_2"),
    "datetime": words("timedelta"),
}
LOG_METHODS = words(
    "debug info warning warn error exception critical log warning_once info_once debug_once print_once print_warning_once"
)
LOGGERS = words("logger log logging _logger LOG LOGGER warnings rank0_log")
OF_A_KEY = words("get pop setdefault")
