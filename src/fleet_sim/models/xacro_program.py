"""The program that expands one xacro file, in a process of its own: its expressions are Python, and may run for ever.

Reads {"path", "mappings", "memory", "size"} as JSON from its input; writes "ok" or "error", a line end, and the URDF or
the reason to its output.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

try:
    import resource
except ImportError:  # not on Windows, where time alone is limited
    resource = None  # type: ignore[assignment]


def main() -> None:
    """Expand the file; whatever happens is written to the output."""
    request = json.load(sys.stdin)
    answer = os.fdopen(os.dup(1), "wb")
    # Whatever else prints must not mix with the answer.
    os.dup2(2, 1)
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    try:
        xacro = importlib.import_module("xacro")
        document = xacro.process_file(request["path"], mappings=request["mappings"])
        content = document.toprettyxml(indent="  ", encoding="utf-8")
        if len(content) > request["size"]:
            raise ValueError(f"it expands to {len(content)} bytes, more than {request['size']}")
        answer.write(b"ok\n" + content)
    except Exception as error:
        answer.write(f"error\n{reason_of(error, request['memory'])}".encode(errors="replace"))
    answer.close()


def reason_of(error: Exception, memory: int) -> str:
    """Return why xacro failed."""
    # xacro wraps what an expression raises, and keeps it.
    cause = getattr(error, "exc", None) or error
    if isinstance(cause, RecursionError):
        return "it is nested too deep; does a macro or a file include itself?"
    if isinstance(cause, MemoryError):
        return f"it needs more than {memory >> 20} MB"
    return str(error) or type(error).__name__


if __name__ == "__main__":
    main()
