"""What verbs of `ros2` derive from."""

from __future__ import annotations

import argparse
from typing import Any

from ...module_places import not_covered
from ..plugin_system import PLUGIN_SYSTEM_VERSION, instantiate_extensions, satisfies_version

__all__ = ["VerbExtension", "get_verb_extensions"]


class VerbExtension:
    """A verb `ros2 <command> <NAME>` of a package that registers it in the group `ros2<command>.verb`."""

    NAME: str | None = None
    EXTENSION_POINT_VERSION = "0.1"

    def __init__(self) -> None:
        satisfies_version(PLUGIN_SYSTEM_VERSION, "^0.1")

    def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
        """Add what the verb takes."""

    def main(self, *, args: argparse.Namespace) -> Any:
        """Run the verb; the exit code, or a message for standard error."""
        raise NotImplementedError("a verb defines main(args=...)")


def get_verb_extensions(name: str) -> dict[str, Any]:
    """Name to verb, of what packages registered in a group."""
    return instantiate_extensions(name)


__getattr__ = not_covered("ros2cli.verb")
