"""The plugin of pytest that runs tests beside launches, which the `launch` mark names.

Each such test is replaced by a plain function that asks for the fixtures it needs, so that pytest and other
plugins see nothing unusual. The package's own plugin registers this one where a module needs it.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from ..module_places import not_covered
from .fixture import (
    get_event_loop_fixture,
    get_launch_context_fixture,
    get_launch_service_fixture,
    launch_fixture,
)
from .running import Stage, launch_test_of, shutdown_test_of, stage_of

__all__ = ["LaunchTestWarning", "event_loop", "launch_context", "launch_service"]

_SHUTDOWN_TEST = "[shutdown_test]"


class LaunchTestWarning(pytest.PytestWarning):
    """A launch test is not marked as it must be, and skipped."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "launch(fixture, shutdown=False): mark a test to run beside the launch of a launch_pytest.fixture",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Any:
    if not inspect.isfunction(obj) or not collector.istestfunction(obj, name) or stage_of(obj) is not None:
        return None
    mark = next((m for m in getattr(obj, "pytestmark", []) if m.name == "launch"), None)
    mark = mark or collector.get_closest_marker("launch")
    if mark is None:
        return None
    fixture = launch_fixture(mark.kwargs.get("fixture"))
    if fixture is None:
        return _collect(collector, name, _skipped(collector, name))
    shutdown = bool(mark.kwargs.get("shutdown", False))
    items = _collect(collector, name, launch_test_of(obj, fixture, shutdown=shutdown))
    if _yields(obj) and fixture.scope != "function" and not shutdown:
        # Its second half waits for other tests of the same launch: a test of its own.
        items += _collect(collector, name + _SHUTDOWN_TEST, shutdown_test_of(obj, fixture))
    return items


def _yields(function: object) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _collect(collector: Any, name: str, function: Any) -> list[Any]:
    """Have pytest collect a function in place of what has its name; parametrized, it is several items."""
    setattr(collector.obj, name, function)
    found = collector.ihook.pytest_pycollect_makeitem(collector=collector, name=name, obj=function)
    return list(found or [])


def _skipped(collector: Any, name: str) -> Any:
    text = (
        f'{name}: "fixture" keyword argument is required in a pytest.mark.launch() decorator, '
        "and must be a launch_pytest.fixture"
    )
    collector.warn(LaunchTestWarning(text))

    @pytest.mark.skip(text)
    def skipped() -> None: ...

    return skipped


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that run when a launch has ended behind the others of the same launch."""
    last: dict[object, int] = {}
    for position, item in enumerate(items):
        stage = _stage(item)
        if stage is not None and not stage.after_shutdown:
            last[_launch_of(item, stage)] = position

    def place(numbered: tuple[int, pytest.Item]) -> tuple[int, int]:
        position, item = numbered
        stage = _stage(item)
        if stage is None or not stage.after_shutdown or stage.fixture.scope == "function":
            return position, -1
        return max(position, last.get(_launch_of(item, stage), -1)), position

    items[:] = [item for _, item in sorted(enumerate(items), key=place)]


def _stage(item: pytest.Item) -> Stage | None:
    return stage_of(getattr(item, "function", None))


def _launch_of(item: pytest.Item, stage: Stage) -> object:
    params = getattr(getattr(item, "callspec", None), "params", {})
    return stage.fixture.name, repr(params.get(stage.fixture.name)), item.getparent(pytest.Module)


launch_service = get_launch_service_fixture(overridable=False)
"""The launch service of a test."""

launch_context = get_launch_context_fixture(overridable=False)
"""The context of its launch."""

event_loop = get_event_loop_fixture(overridable=False)
"""The event loop on which it runs."""


__getattr__ = not_covered("launch_pytest.plugin")
