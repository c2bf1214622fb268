"""The pytest plugin: a module whose `generate_test_description` is marked `launch_test` is run as a launch
test.

It is imported at every start of pytest, so the launch machinery is imported only for a module that needs it.
Where a full ROS 2 is present its own plugin does this, and this one does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ._finder import stand_first
from .places import NotCovered

_MARKS = ("launch_test", "rostest")  # the latter is that of launch_testing_ros

# The hook by which pytest rewrites asserts is in front by now. It loads files that look like tests by
# itself, and launch_testing.test_runner looks like one: it would be a second module, without its package.
stand_first()


def _is_ours() -> bool:
    import launch_testing  # type: ignore[import-not-found,unused-ignore]

    return bool(launch_testing.__name__ == "pocket_ros.launch_testing")


def pytest_configure(config: pytest.Config) -> None:
    for mark in _MARKS:
        config.addinivalue_line(
            "markers", f"{mark}: mark a generate_test_description function as a launch test"
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    try:
        parser.addoption(
            "--launch-args", action="append", default=[], help="One launch argument, as name:=value"
        )
    except ValueError:  # the real plugin has the same option
        return


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    text = module_path.read_bytes()
    if b"generate_test_description" not in text or not any(mark.encode() in text for mark in _MARKS):
        return None
    if not _is_ours():
        return None
    module: LaunchTestModule = LaunchTestModule.from_parent(parent, path=module_path)
    function = getattr(module.obj, "generate_test_description", None)
    marks = getattr(function, "pytestmark", [])
    return module if any(mark.name in _MARKS for mark in marks) else None


class LaunchTestModule(pytest.Module):
    """A test module that is one item: a launch with its tests."""

    makeitem = NotCovered()

    def collect(self) -> Iterator[LaunchTestItem]:
        yield LaunchTestItem.from_parent(self, name=self.path.name)


class LaunchTestFailure(Exception):
    """Tests of a launch failed; the text says which and why."""


class LaunchTestItem(pytest.Item):
    """Runs the launches of a module."""

    def runtest(self) -> None:
        from .launch_testing.loader import LoadTestsFromPythonModule
        from .launch_testing.test_runner import FailResult, LaunchTestRunner, SkipResult

        module = self.getparent(LaunchTestModule)
        assert module is not None
        function = module.obj.generate_test_description
        for mark in getattr(function, "pytestmark", []):
            if mark.name == "skip":
                pytest.skip(mark.kwargs.get("reason", "unconditional skip"))
        runs = LoadTestsFromPythonModule(module.obj, name=self.name)
        runner = LaunchTestRunner(runs, self.config.getoption("--launch-args", []))
        runner.validate()
        results = runner.run().values()
        failed = {case.id(): text for result in results for case, text in (*result.failures, *result.errors)}
        failed |= {f"{self.name} launch": r.message for r in results if isinstance(r, FailResult)}
        if failed:
            raise LaunchTestFailure("\n\n".join(f"{name}\n{text}" for name, text in failed.items()))
        reasons = [reason for result in results for _, reason in result.skipped]
        reasons += [result.message for result in results if isinstance(result, SkipResult)]
        if reasons and all(len(result.skipped) == result.testsRun for result in results):
            pytest.skip(reasons[0])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, LaunchTestFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"launch tests: {self.name}"


# What pytest calls for launch tests: the plugin that pocket_ros registers, under the public name.
