"""The plugin of pytest that runs tests beside launches, which the `launch` mark names.

Each such test is replaced by a plain function that asks for the fixtures it needs, so that pytest and other
plugins see nothing unusual. The package's own plugin registers this one where a module needs it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from typing import Any

import pytest

from ..launch import LaunchService
from ..places import not_covered
from .fixture import (
    LaunchFixture,
    finalize_launch_service,
    get_event_loop_fixture,
    get_launch_context_fixture,
    get_launch_service_fixture,
    launch_fixture,
    with_parameters,
)

__all__ = ["LaunchTestWarning", "event_loop", "launch_context", "launch_service"]


# Plain functions that stand for launch tests: coroutines, generators and functions beside a launch.
# PYTEST_DONT_REWRITE


_STAGE = "_launch_pytest_stage"
_FIXTURES = ("launch_service", "event_loop")
_Half = Generator[Any, Any, Any] | AsyncGenerator[Any, Any]


@dataclass(frozen=True)
class Stage:
    """Which launch a test belongs to, and whether it runs when that has ended."""

    fixture: LaunchFixture
    after_shutdown: bool


def stage_of(function: object) -> Stage | None:
    """The stage of a function made here; None for anything else."""
    found = getattr(function, _STAGE, None)
    return found if isinstance(found, Stage) else None


def launch_test_of(
    function: Callable[..., Any], fixture: LaunchFixture, *, shutdown: bool
) -> Callable[..., None]:
    """The test that runs a function; `shutdown` ends the launch before.

    A generator whose launch is not its own stops at its `yield`, and `shutdown_test_of` runs the rest.
    """
    yields = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    own_launch = fixture.scope == "function"

    def run(request: pytest.FixtureRequest, args: Any, kwargs: Any, loop: Any, end: Any) -> None:
        if yields and shutdown:
            pytest.fail(
                "generator or async generator based launch test items cannot be marked with shutdown=True"
            )
        if shutdown:
            end()
        if not yields:
            _run_whole(functools.partial(function, *args, **kwargs), loop)
            return
        half = function(*args, **kwargs)
        _advance(half, loop, beside=True)
        if own_launch:
            end()
            _finish(half, loop)
        else:
            _halves(function)[_key(request)] = half

    stage = Stage(fixture, shutdown)
    return _test(function, stage, inspect.signature(function), run, function.__name__)


def shutdown_test_of(function: Callable[..., Any], fixture: LaunchFixture) -> Callable[..., None]:
    """The test that ends the launch and runs the rest of a generator."""

    def run(request: pytest.FixtureRequest, args: Any, kwargs: Any, loop: Any, end: Any) -> None:
        half = _halves(function).pop(_key(request), None)
        if half is None:
            pytest.skip("shutdown test skipped because the test failed before")
        end()
        _finish(half, loop)

    # The same parameters, for where they are several it is as many tests; no fixture is made anew.
    stage = Stage(fixture, True)
    return _test(function, stage, inspect.signature(function), run, f"{function.__name__}[shutdown]")


def _test(
    function: Callable[..., Any],
    stage: Stage,
    signature: inspect.Signature,
    run: Callable[..., None],
    name: str,
) -> Callable[..., None]:
    asked = set(signature.parameters)

    def test(*args: Any, **kwargs: Any) -> None:
        loop: asyncio.AbstractEventLoop = kwargs["event_loop"]
        service: LaunchService = kwargs["launch_service"]
        own = {key: value for key, value in kwargs.items() if key in asked}
        end = functools.partial(
            finalize_launch_service, service, f"When running test {name}", stage.fixture.auto_shutdown
        )
        run(kwargs["request"], args, own, loop, end)

    test.__name__, test.__doc__, test.__module__ = name, function.__doc__, function.__module__
    test.__dict__.update(vars(function))
    # Not functools.wraps: pytest would look behind it, and see a generator.
    test.__signature__ = with_parameters(  # type: ignore[attr-defined]
        signature, stage.fixture.name, *_FIXTURES, "request"
    )
    setattr(test, _STAGE, stage)
    return test


def _halves(function: Callable[..., Any]) -> dict[object, _Half]:
    """Generators of a function that wait at their `yield`, by the parameters of the test."""
    waiting: dict[object, _Half] = vars(function).setdefault("_launch_pytest_waiting", {})
    return waiting


def _key(request: pytest.FixtureRequest) -> object:
    callspec = getattr(request.node, "callspec", None)
    return getattr(request.node.parent, "nodeid", None), getattr(callspec, "id", None)


def _run_whole(call: functools.partial[Any], loop: asyncio.AbstractEventLoop) -> None:
    if inspect.iscoroutinefunction(call.func):
        loop.run_until_complete(call())
    else:  # in a thread, for the launch runs meanwhile
        loop.run_until_complete(loop.run_in_executor(None, call))


_END = object()


def _advance(half: _Half, loop: asyncio.AbstractEventLoop, *, beside: bool) -> object:
    """Run to the next `yield`; `_END` where there is none. Functions run `beside` the launch in a thread."""
    if inspect.isasyncgen(half):
        return loop.run_until_complete(_next_of(half))
    assert inspect.isgenerator(half)
    if beside:
        return loop.run_until_complete(loop.run_in_executor(None, next, half, _END))
    return next(half, _END)


async def _next_of(half: AsyncGenerator[Any, Any]) -> object:
    try:
        return await half.__anext__()
    except StopAsyncIteration:
        return _END


def _finish(half: _Half, loop: asyncio.AbstractEventLoop) -> None:
    if _advance(half, loop, beside=False) is _END:
        return
    kind = "an async gen" if inspect.isasyncgen(half) else "a generator"
    pytest.fail(f"launch tests using {kind} function must stop iteration after yielding once", pytrace=False)


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
