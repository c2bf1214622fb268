"""The commands of `ros2`, and what those of other packages derive from."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from ...places import not_covered

# What looks at installed packages is imported where it is used: most commands do without.
__all__ = ["CommandExtension", "add_subparsers_on_demand", "get_command_extensions"]


def command_module(name: str) -> Any:
    """The module of a command of `ros2`; `wtf` is another name of `doctor`."""
    try:
        return importlib.import_module(f".{'doctor' if name == 'wtf' else name}", __name__)
    except ModuleNotFoundError as error:
        # Only `bag` uses rosbags, which is an extra: whoever runs nodes needs none of it.
        if error.name is None or error.name.partition(".")[0] != "rosbags":
            raise
        raise RuntimeError(
            f"'ros2 {name}' needs rosbags, which is not installed; run: pip install 'pocket_ros[bag]'"
        ) from error


class CommandExtension:
    """A command `ros2 <NAME>` of a package that registers it in the group `ros2cli.command`."""

    NAME: str | None = None
    EXTENSION_POINT_VERSION = "0.1"

    def __init__(self) -> None:
        from ..plugin_system import PLUGIN_SYSTEM_VERSION, satisfies_version

        satisfies_version(PLUGIN_SYSTEM_VERSION, "^0.1")

    def add_arguments(
        self, parser: argparse.ArgumentParser, cli_name: str, *, argv: list[str] | None = None
    ) -> None:
        """Add what the command takes."""

    def main(self, *, parser: argparse.ArgumentParser, args: argparse.Namespace) -> Any:
        """Run the command; the exit code, or a message for standard error."""
        raise NotImplementedError("a command defines main(parser=..., args=...)")


def get_command_extensions(group_name: str, *, exclude_names: list[str] | None = None) -> dict[str, Any]:
    """Name to command or verb, of what packages registered in a group."""
    from ..plugin_system import instantiate_extensions

    return instantiate_extensions(group_name, exclude_names=exclude_names)


def add_subparsers_on_demand(
    parser: argparse.ArgumentParser,
    cli_name: str,
    dest: str,
    group_name: str,
    hide_extensions: list[str] | None = None,
    required: bool = True,
    argv: list[str] | None = None,
) -> Any:
    """A place for the verbs of a group: each becomes a parser, and the chosen one the attribute `dest`."""
    places = parser.add_subparsers(
        title="Commands", metavar=f"Call `{cli_name} <command> -h` for more detailed usage."
    )
    places.required = required
    for name, extension in sorted(get_command_extensions(group_name).items()):
        if name in (hide_extensions or ()):
            continue
        text = (type(extension).__doc__ or "").strip().split("\n")[0].rstrip(".")
        own = places.add_parser(name, help=text, description=text)
        own.set_defaults(**{dest: extension})
        extension.add_arguments(own, f"{cli_name} {name}")
    return places


__getattr__ = not_covered("ros2cli.command")
