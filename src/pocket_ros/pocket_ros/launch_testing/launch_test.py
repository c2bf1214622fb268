"""The command `launch_test`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from types import ModuleType

from pocket_ros.launch.argument_listing import print_arguments_of_launch_description

from .loader import LoadTestsFromPythonModule
from .test_result import to_junit_xml
from .test_runner import LaunchTestRunner


def load_module(name: str, path: str) -> ModuleType:
    """A Python file as a module, registered under the name."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"'{path}' is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="launch_test", description="Launch integration testing tool.")
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
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run a launch test; 0 when everything passed, 1 otherwise.

    Where a full ROS 2 is importable, its runner does.
    """
    found = importlib.import_module("launch_testing")
    if found.__name__ != __package__:
        code: int = importlib.import_module("launch_testing.launch_test").main()
        return code
    parser = _parser()
    args = parser.parse_intermixed_args(argv)
    if not os.path.isfile(args.launch_test_file):
        parser.error(f"Test file '{args.launch_test_file}' does not exist")
    path = os.path.abspath(args.launch_test_file)
    base = os.path.splitext(os.path.basename(path))[0]
    package = args.package_name or base
    try:
        runs = LoadTestsFromPythonModule(load_module(package, path), name=f"{package}.{base}.launch_tests")
        runner = LaunchTestRunner(runs, args.launch_arguments, debug=args.verbose)
    except (AttributeError, ImportError, ValueError) as error:
        parser.error(str(error))
    if args.show_args:
        print_arguments_of_launch_description(runs[0].describe(lambda: None)[0])
        return 0
    results = runner.run()
    if args.xmlpath:
        report = to_junit_xml(results, f"{package}.{base}")
        report.write(args.xmlpath, encoding="utf-8", xml_declaration=True)
    return 0 if all(result.wasSuccessful() for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
