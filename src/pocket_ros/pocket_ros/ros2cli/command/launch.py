"""`ros2 launch`."""

from __future__ import annotations

import argparse
import os
import sys

from ...ament_index_python import PackageNotFoundError, get_package_share_directory
from ...launch import LaunchDescription, LaunchIntrospector, LaunchService, logging
from ...launch.actions import IncludeLaunchDescription, SetLaunchConfiguration
from ...launch.launch_description_sources import AnyLaunchDescriptionSource
from ...launch.launch_service import print_arguments_of_launch_description

_SKIPPED_FOLDERS = {"build", "install", "log", "node_modules"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ros2 launch`."""
    flag = parser.add_argument
    flag("-n", "--noninteractive", action="store_true", help="Run with no terminal associated")
    flag("-d", "--debug", action="store_true", help="Put the launch system in debug mode")
    printing = parser.add_mutually_exclusive_group()
    printing.add_argument(
        "-p", "--print", "--print-description", action="store_true", help="Print the launch description"
    )
    printing.add_argument(
        "-s", "--show-args", "--show-arguments", action="store_true", help="Show arguments of the launch file"
    )
    flag(
        "-a",
        "--show-all-subprocesses-output",
        action="store_true",
        help="Show all launched subprocesses' output",
    )
    flag("--launch-prefix", help="Prefix command, which should go before all executables.")
    flag("--launch-prefix-filter", help="Regex of the executables that --launch-prefix is for")
    flag("package_name", help="Name of the ROS package which contains the launch file, or its path")
    flag("launch_file_name", nargs="?", help="Name of the launch file")
    flag("launch_arguments", nargs="*", help="Arguments, '<name>:=<value>' (for duplicates, last one wins)")
    parser.set_defaults(main=_main)


def find_launch_file(package_name: str, file_name: str) -> str:
    """The one launch file of that name in a package. Raises RuntimeError for none and for several."""
    try:
        share = get_package_share_directory(package_name)
    except PackageNotFoundError as error:
        raise RuntimeError(f"Package '{package_name}' not found: {error}") from error
    direct = os.path.join(share, "launch", file_name)
    if os.path.isfile(direct):
        return direct
    found = []
    for base, folders, files in os.walk(share):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in _SKIPPED_FOLDERS]
        if file_name in files:
            found.append(os.path.join(base, file_name))
    if not found:
        raise RuntimeError(
            f"file '{file_name}' was not found in the share directory of package '{package_name}' "
            f"which is at '{share}'"
        )
    if len(found) > 1:
        raise RuntimeError(
            f"file '{file_name}' was found more than once in the share directory of package "
            f"'{package_name}': [{', '.join(found)}]"
        )
    return found[0]


def _locate(args: argparse.Namespace) -> tuple[str, list[str]]:
    """The launch file and its arguments: named by its path, or by package and file."""
    words = [word for word in (args.launch_file_name, *args.launch_arguments) if word is not None]
    if os.path.isfile(args.package_name):
        return args.package_name, words
    if args.launch_file_name is None or ":=" in args.launch_file_name:
        raise RuntimeError(
            f"'{args.package_name}' is not a launch file; "
            "give the path of one, or a package and the name of a launch file"
        )
    return find_launch_file(args.package_name, args.launch_file_name), words[1:]


def _parse(words: list[str]) -> dict[str, str]:
    arguments = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not separator or not name:
            raise RuntimeError(f"malformed launch argument '{word}', expected format '<name>:=<value>'")
        arguments[name] = value
    return arguments


def _main(args: argparse.Namespace) -> int:
    path, words = _locate(args)
    path = os.path.abspath(path)
    source = AnyLaunchDescriptionSource(path)
    if args.show_args or args.print:
        description = source.try_get_launch_description_without_context() or LaunchDescription()
        if args.show_args:
            print_arguments_of_launch_description(description)
        else:
            print(LaunchIntrospector().format_launch_description(description))
        return 0
    if args.debug:
        logging.launch_config.level = "DEBUG"
    if args.show_all_subprocesses_output:
        os.environ["OVERRIDE_LAUNCH_PROCESS_OUTPUT"] = "both"
    settings = {"launch-prefix": args.launch_prefix, "launch-prefix-filter": args.launch_prefix_filter}
    given = [SetLaunchConfiguration(name, value) for name, value in settings.items() if value is not None]
    include = IncludeLaunchDescription(source, launch_arguments=_parse(words).items())
    logger = logging.get_logger("launch")
    logger.info(f"All log files can be found below {logging.launch_config.log_dir}")
    logger.info(f"Default logging verbosity is set to {'DEBUG' if args.debug else 'INFO'}")
    service = LaunchService(
        argv=words, noninteractive=args.noninteractive or not sys.stdin.isatty(), debug=args.debug
    )
    service.include_launch_description(LaunchDescription([*given, include]))
    return service.run()
