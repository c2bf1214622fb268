"""Says of each name on the input whether it is here, refused with a reason, or missing; a program."""

import importlib
import inspect
import json
import re
import sys


def look_up(name: str) -> str:
    """`here`, `refused` for NotImplementedError, or `missing`."""
    module, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module)
        for part in attribute.split("."):
            if isinstance(found, type) and not hasattr(found, part) and is_set_on_instances(found, part):
                return "here"
            found = getattr(found, part)
    except NotImplementedError:
        return "refused"
    except (ImportError, AttributeError):
        return "missing"
    return "here"


def is_set_on_instances(kind: type, name: str) -> bool:
    """Whether a class declares the attribute, or `__init__` of it or of a base sets it."""
    for base in kind.__mro__:
        if name in vars(base).get("__annotations__", {}):
            return True
        init = vars(base).get("__init__")
        if inspect.isfunction(init) and re.search(rf"\bself\.{name}\b.* = ", inspect.getsource(init)):
            return True
    return False


if __name__ == "__main__":
    print(json.dumps({name: look_up(name) for name in json.load(sys.stdin)}))
