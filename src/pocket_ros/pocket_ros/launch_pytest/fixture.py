"""Fixtures that are launches, and the fixtures they run by."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from ..launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity, LaunchService
from ..launch_testing.actions import ReadyToTest
from ..places import not_covered

# Actions of launches that are fixtures.


_SCOPES = ("function", "class", "module", "package", "session")
_OURS = "_launch_pytest_scope"
_OPTIONS = "_launch_pytest_options"


@dataclass(frozen=True)
class LaunchFixture:
    """What tests need to know of a fixture that is a launch."""

    name: str
    scope: str
    auto_shutdown: bool


def finalize_launch_service(
    launch_service: LaunchService, eprefix: str = "", auto_shutdown: bool = True
) -> None:
    """Wait until a launch has ended, which it is told to with `auto_shutdown`; nothing for one that has.

    Raises AssertionError when the launch failed; the text begins with `eprefix`.
    """
    loop, task = launch_service.event_loop, launch_service.task
    if loop is None or task is None or loop.is_closed():
        return
    if auto_shutdown:
        launch_service.shutdown(force_sync=True)
    code = loop.run_until_complete(task)
    if code != 0:
        raise AssertionError(f"{eprefix} launch service failed when finishing, return code '{code}'")


def get_event_loop_fixture(*, scope: Any = "function", overridable: bool = True) -> Any:
    """A fixture that is an event loop, of its own for each scope."""

    @pytest.fixture(scope=scope)
    def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
        """The event loop of a launch."""
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        yield loop
        loop.close()
        asyncio.set_event_loop(None)

    return _with_scope(event_loop, scope, overridable)


def get_launch_service_fixture(*, scope: Any = "function", overridable: bool = True) -> Any:
    """A fixture that is a launch service; its launch ends with the scope."""

    @pytest.fixture(scope=scope)
    def launch_service(event_loop: asyncio.AbstractEventLoop) -> Iterator[LaunchService]:
        """What runs a launch."""
        service = LaunchService()
        yield service
        finalize_launch_service(service, eprefix="When tearing down launch_service fixture")

    return _with_scope(launch_service, scope, overridable)


def get_launch_context_fixture(*, scope: Any = "function", overridable: bool = True) -> Any:
    """A fixture that is the context of the launch service."""

    @pytest.fixture(scope=scope)
    def launch_context(launch_service: LaunchService) -> LaunchContext:
        """The context of a launch."""
        return launch_service.context

    return _with_scope(launch_context, scope, overridable)


def _with_scope(made: Any, scope: str, overridable: bool) -> Any:
    if overridable:
        setattr(made, _OURS, scope)
    return made


_GETTERS = {
    "launch_service": get_launch_service_fixture,
    "event_loop": get_event_loop_fixture,
    "launch_context": get_launch_context_fixture,
}


def _widen(names: dict[str, Any], scope: str) -> None:
    """Give a module fixtures of at least this scope, in place of narrower ones that were made here.

    What the module defines itself is left alone: pytest says where its scope is too narrow.
    """
    for name, getter in _GETTERS.items():
        before = getattr(names[name], _OURS, None) if name in names else "function"
        if before is not None and _SCOPES.index(scope) > _SCOPES.index(before):
            names[name] = getter(scope=scope)


def fixture(
    decorated: Callable[..., Any] | None = None,
    *args: Any,
    shutdown_when_idle: bool = True,
    auto_shutdown: bool = True,
    **kwargs: Any,
) -> Any:
    """Decorate a function that gives a launch description, or a sequence that begins with one.

    The launch runs when the fixture is set up, and tests begin at its ReadyToTest action. It ends when tests
    before its shutdown are done, or by itself with `auto_shutdown=False`. Further arguments are those of
    `pytest.fixture`. For a scope wider than a function's, the module gets `launch_service`, `event_loop` and
    `launch_context` of that scope. Raises ValueError for a scope that is no name of one.
    """
    scope = kwargs.get("scope", "function")
    if scope not in _SCOPES:
        raise ValueError(f"scope is {scope!r}; a launch fixture takes one of: {', '.join(_SCOPES)}")
    if scope != "function":
        _widen(sys._getframe(1).f_globals, scope)

    def decorate(function: Callable[..., Any]) -> Any:
        name = kwargs.get("name") or function.__name__
        made = pytest.fixture(*args, **kwargs)(_launching(function, shutdown_when_idle, auto_shutdown))
        setattr(made, _OPTIONS, LaunchFixture(name, scope, auto_shutdown))
        return made

    return decorate if decorated is None else decorate(decorated)


def launch_fixture(candidate: object) -> LaunchFixture | None:
    """What is known of a fixture made by `fixture`; None for anything else."""
    found = getattr(candidate, _OPTIONS, None)
    return found if isinstance(found, LaunchFixture) else None


def _launching(
    function: Callable[..., Any], shutdown_when_idle: bool, auto_shutdown: bool
) -> Callable[..., Iterator[Any]]:
    """The function of the fixture: that of the user, which may be a generator, with its launch around."""
    prefix = f"When running launch_pytest fixture '{function.__name__}':"
    signature = inspect.signature(function)

    def launched(*args: Any, **kwargs: Any) -> Iterator[Any]:
        service, loop = kwargs["launch_service"], kwargs["event_loop"]
        own = {name: value for name, value in kwargs.items() if name in signature.parameters}
        result = function(*args, **own)
        generator = result if inspect.isgenerator(result) else None
        if generator is not None:
            result = next(generator)
        description = _description_of(result, prefix)
        ready = _ready_action(description)
        asyncio.set_event_loop(loop)
        _start(service, loop, description, ready, shutdown_when_idle)
        yield result
        finalize_launch_service(service, prefix, auto_shutdown)
        if generator is not None and next(generator, launched) is not launched:
            raise RuntimeError(f"{prefix} it must yield once")

    launched.__name__, launched.__doc__ = function.__name__, function.__doc__
    launched.__module__ = function.__module__
    # Not functools.wraps: pytest would look behind it, and not see what the launch needs.
    launched.__signature__ = with_parameters(signature, "launch_service", "event_loop")  # type: ignore[attr-defined]
    return launched


def with_parameters(signature: inspect.Signature, *names: str) -> inspect.Signature:
    """A signature that asks for further fixtures, where it does not ask for them already."""
    kind = inspect.Parameter.KEYWORD_ONLY
    further = [inspect.Parameter(name, kind) for name in names if name not in signature.parameters]
    return signature.replace(parameters=[*signature.parameters.values(), *further])


def _start(
    service: LaunchService,
    loop: asyncio.AbstractEventLoop,
    description: LaunchDescription,
    ready: ReadyToTest,
    shutdown_when_idle: bool,
) -> None:
    """Run a launch until its tests may begin.

    Raises RuntimeError for a launch that ends before that, and where the service runs another.
    """
    if service.task is not None and not service.task.done():
        raise RuntimeError(
            "launch_service runs another launch: launch fixtures of which one is wider than a function "
            "share it in a module; put them into modules of their own"
        )
    event = asyncio.Event()
    ready.add_callback(event.set)
    service.include_launch_description(description)
    launch = loop.create_task(service.run_async(shutdown_when_idle=shutdown_when_idle))
    waiting = loop.create_task(event.wait())
    loop.run_until_complete(asyncio.wait([launch, waiting], return_when=asyncio.FIRST_COMPLETED))
    if not waiting.done():
        waiting.cancel()
        raise RuntimeError(
            f"the launch ended with return code {launch.result()} before its ReadyToTest action was visited"
        )


def _description_of(result: object, prefix: str) -> LaunchDescription:
    first = result[0] if isinstance(result, Sequence) and result else result
    if not isinstance(first, LaunchDescription):
        raise AssertionError(
            f"{prefix} return value must be either a launch description "
            f"or a sequence which first item is a launch description, it is {result!r}"
        )
    return first


def _ready_action(description: LaunchDescription) -> ReadyToTest:
    """The action at which tests begin; one is put at the end of a description without."""
    found = list(_ready_actions(description.entities))
    if len(found) > 1:
        raise RuntimeError(
            "launch_pytest fixtures must return a LaunchDescription containing only one ReadyToTest action, "
            f"it has {len(found)}"
        )
    if not found:
        found.append(ReadyToTest())
        description.add_action(found[0])
    return found[0]


def _ready_actions(entities: Iterable[LaunchDescriptionEntity]) -> Iterator[ReadyToTest]:
    for entity in entities:
        if isinstance(entity, ReadyToTest):
            yield entity
        yield from _ready_actions(entity.describe_sub_entities())
        for _, conditional in entity.describe_conditional_sub_entities():
            yield from _ready_actions(conditional)


__getattr__ = not_covered("launch_pytest.fixture")
