"""Executables of packages: finding and running them."""

from __future__ import annotations

import os
import signal
import subprocess
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from ..ros2pkg.api import PackageNotFound, get_executable_paths

ROS2RUN_MSG_PREFIX = "[ros2run]:"


class MultipleExecutables(Exception):
    """Raised where a package has several executables of one name."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(f"there are several: {', '.join(paths)}")
        self.paths = paths


def get_executable_path(*, package_name: str, executable_name: str) -> str | None:
    """The path of an executable, None where there is none. Raises PackageNotFound, MultipleExecutables."""
    paths = get_executable_paths(package_name=package_name)
    found = [path for path in paths if os.path.basename(path) == executable_name]
    if len(found) > 1:
        raise MultipleExecutables(found)
    return found[0] if found else None


def run_executable(*, path: str, argv: list[str], prefix: list[str] | None = None) -> int:
    """Run a program to its end, through Ctrl-C, which it gets as well; its exit code."""
    process = subprocess.Popen([*(prefix or []), path, *argv])
    while process.returncode is None:
        try:
            process.wait()
        except KeyboardInterrupt:
            continue
    if process.returncode:
        by_signal = -process.returncode in signal.valid_signals()
        text = signal.strsignal(-process.returncode) if by_signal else None
        print(ROS2RUN_MSG_PREFIX, text or f"Process exited with failure {process.returncode}")
    return process.returncode


class ExecutableNameCompleter:
    """Completes the executables of the package that was named."""

    def __init__(self, *, package_name_key: str | None = None) -> None:
        self.package_name_key = package_name_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        try:
            paths = get_executable_paths(package_name=getattr(parsed_args, self.package_name_key or ""))
        except PackageNotFound:
            return []
        return [os.path.basename(path) for path in paths]
