"""The end of the program that a host gets: before it stands a line `TEXTS = [[name, text], ...]`.

The texts are the modules of package ddtree_preflight, in the order of their imports; the last one has `main`.
"""

import sys
import types

PACKAGE = "ddtree_preflight"


def load(texts):
    package = sys.modules[PACKAGE] = types.ModuleType(PACKAGE)
    package.__path__ = []
    for name, text in texts:
        whole = f"{PACKAGE}.{name}"
        module = sys.modules[whole] = types.ModuleType(whole)
        module.__package__ = PACKAGE
        setattr(package, name, module)
        exec(compile(text, f"<{PACKAGE}/{name}.py>", "exec"), module.__dict__)
    return module


load(TEXTS).main(sys.argv[1])  # noqa: F821
