"""The command `launch_test`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from types import ModuleType

from pocket_ros.launch.launch_service import print_arguments_of_launch_description

from .loader import LoadTestsFromPythonModule
from .test_runner import LaunchTestRunner, unittestResultsToXml


def load_module(name: str, path: str) -> ModuleType:
    """A Python file as a module, registered under the name."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"'{path}' is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("launch_test_file", help="Path to the launch test.")
    parser.add_argument("--package-name", help="Name of the package the test is in, for reports.")
    parser.add_argument("-v", "--verbose", action="store_true", help="Run with verbose output")
    parser.add_argument(
        "-s",
        "--show-args",
        "--show-arguments",
        action="store_true",
        help="Show arguments of the launch test.",
    )
    parser.add_argument(
        "launch_arguments", nargs="*", help="Arguments in '<name>:=<value>' format (the last one wins)."
    )
    parser.add_argument("--junit-xml", dest="xmlpath", help="Write a report to this path.")


def parse_arguments(argv: list[str] | None = None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """A parser with what is on the command line."""
    parser = argparse.ArgumentParser(prog="launch_test", description="Launch integration testing tool.")
    add_arguments(parser)
    return parser, parser.parse_intermixed_args(argv)


def run(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    test_runner_cls: type[LaunchTestRunner] = LaunchTestRunner,
) -> int:
    """Run a launch test; 0 when everything passed. What is wrong with the file ends the process, with 2."""
    if not os.path.isfile(args.launch_test_file):
        parser.error(f"Test file '{args.launch_test_file}' does not exist")
    path = os.path.abspath(args.launch_test_file)
    base = os.path.splitext(os.path.basename(path))[0]
    package = args.package_name or base
    try:
        runs = LoadTestsFromPythonModule(load_module(package, path), name=f"{package}.{base}.launch_tests")
        runner = test_runner_cls(runs, args.launch_arguments, debug=args.verbose)
        runner.validate()
    except (AttributeError, ImportError, RuntimeError, TypeError, ValueError) as error:
        parser.error(str(error))
    if args.show_args:
        print_arguments_of_launch_description(runs[0].get_launch_description())
        return 0
    results = runner.run()
    if args.xmlpath:
        report = unittestResultsToXml(name=f"{package}.{base}", test_results=results)
        report.write(args.xmlpath, encoding="utf-8", xml_declaration=True)
    return 0 if all(result.wasSuccessful() for result in results.values()) else 1


def main(argv: list[str] | None = None) -> int:
    """Run a launch test; 0 when everything passed, 1 otherwise.

    Where a full ROS 2 is importable, its runner does.
    """
    found = importlib.import_module("launch_testing")
    if found.__name__ != __package__:
        code: int = importlib.import_module("launch_testing.launch_test").main()
        return code
    return run(*parse_arguments(argv))


if __name__ == "__main__":
    sys.exit(main())
