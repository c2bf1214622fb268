"""From a test module to launches with their tests."""

from __future__ import annotations

import functools
import inspect
import threading
import time
import unittest
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, TypeVar

from ..launch import LaunchDescription
from ..launch.actions import GroupAction
from ..launch.description import LaunchDescriptionEntity
from ..places import not_covered
from .actions import ReadyToTest

__all__ = [
    "DEFAULT_SECONDS",
    "ENTRY_POINT",
    "LoadTestsFromPythonModule",
    "PostShutdownTestLoader",
    "PreShutdownTestLoader",
    "TestRun",
]


# Several parties that must all be ready.


class ReadyAggregator:
    """Calls `notify_fn` once, when `ready` has been called `num_callbacks` times."""

    def __init__(self, notify_fn: Callable[[], None], num_callbacks: int) -> None:
        self._notify = notify_fn
        self._left = num_callbacks
        self._lock = threading.Lock()

    def ready_fn(self) -> None:
        """One more is ready."""
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self._notify()


# How long a launch may take to become ready.


DEFAULT_SECONDS = 15.0


def ready_to_test_action_timeout(
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates `generate_test_description`: seconds until ReadyToTest must have been visited, 15
    without it.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__ready_to_test_action_timeout__ = (  # type: ignore[attr-defined]
            DEFAULT_SECONDS if timeout is None else float(timeout)
        )
        return function

    return decorate


ENTRY_POINT = "generate_test_description"
_FIXTURES = ("setUp", "tearDown", "setUpClass", "tearDownClass")


class TestRun:
    """One launch: a description, the tests while it runs and the tests after its end."""

    __test__ = False

    def __init__(
        self,
        name: str,
        test_description_function: Callable[..., Any],
        param_args: dict[str, Any],
        pre_shutdown_tests: unittest.TestSuite,
        post_shutdown_tests: unittest.TestSuite,
    ) -> None:
        self.name = name
        self.param_args = param_args
        self.pre_shutdown_tests = pre_shutdown_tests
        self.post_shutdown_tests = post_shutdown_tests
        self._function = test_description_function
        base = inspect.unwrap(getattr(test_description_function, "func", test_description_function))
        self.markers: dict[str, Any] = getattr(base, "__markers__", {})
        self.timeout: float = getattr(base, "__ready_to_test_action_timeout__", DEFAULT_SECONDS)

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.param_args.items())
        return f"{self.name}[{values}]" if values else self.name

    def all_cases(self) -> Iterator[unittest.TestCase]:
        """Every test."""
        yield from _cases(self.pre_shutdown_tests)
        yield from _cases(self.post_shutdown_tests)

    def get_launch_description(self) -> LaunchDescription:
        """The launch description, to be looked at."""
        return self.normalized_test_description(lambda: None)[0]

    def check_arguments(self) -> None:
        """Raise TypeError where parameters and the arguments of the function are not the same."""
        function = inspect.unwrap(getattr(self._function, "func", self._function))
        taken = set(inspect.signature(function).parameters)
        for name in self.param_args:
            if name not in taken:
                raise TypeError(
                    f"Could not find an argument in {ENTRY_POINT} matching parametrized argument '{name}'"
                )
        for name in sorted(taken - set(self.param_args) - {"ready_fn"}):
            raise TypeError(f"{ENTRY_POINT} has unexpected extra argument '{name}'")

    def normalized_test_description(
        self, ready_fn: Callable[[], None]
    ) -> tuple[LaunchDescription, dict[str, Any]]:
        """The launch description and the names it gives its tests; `ready_fn` is called when it is ready.

        Raises TypeError for a function of the wrong form, ValueError when the description can never become
        ready.
        """
        takes_ready = "ready_fn" in inspect.signature(self._function).parameters
        result = self._function(ready_fn=ready_fn) if takes_ready else self._function()
        description, context = result if isinstance(result, tuple) else (result, {})
        if not isinstance(description, LaunchDescription):
            raise TypeError(
                f"{ENTRY_POINT} must return a LaunchDescription, got {type(description).__name__}"
            )
        actions = list(_ready_actions(description.entities))
        if not takes_ready and not actions:
            raise ValueError(f"{ENTRY_POINT} must return a LaunchDescription containing a ReadyToTest action")
        aggregator = ReadyAggregator(ready_fn, len(actions))
        for action in actions:
            action.add_callback(aggregator.ready_fn)
        return description, dict(context)

    def bind(self, tests: unittest.TestSuite, names: dict[str, Any], arguments: dict[str, Any]) -> None:
        """Give tests attributes, and arguments to every test and fixture that names them."""
        classes = {type(case) for case in _cases(tests)}
        for test_class in classes:
            for name, value in names.items():
                setattr(test_class, name, value)
            for name in _FIXTURES:
                function = getattr(test_class, name)
                bound = _bind(function, arguments)
                if bound is not function:
                    setattr(test_class, name, staticmethod(bound) if inspect.ismethod(function) else bound)
        for case in _cases(tests):
            method = case._testMethodName
            setattr(case, method, _bind(getattr(case, method), arguments))


def _bind(function: Callable[..., Any], arguments: dict[str, Any]) -> Callable[..., Any]:
    wanted = {name: arguments[name] for name in inspect.signature(function).parameters if name in arguments}
    if not wanted:
        return function

    @functools.wraps(function)
    def bound(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**wanted, **kwargs})

    return bound


def _cases(suite: Iterable[Any]) -> Iterator[unittest.TestCase]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _cases(item)
        else:
            yield item


def _ready_actions(entities: Iterable[LaunchDescriptionEntity]) -> Iterator[ReadyToTest]:
    for entity in entities:
        if isinstance(entity, ReadyToTest):
            yield entity
            continue
        held = (
            entity.get_sub_entities() if isinstance(entity, GroupAction) else entity.describe_sub_entities()
        )
        yield from _ready_actions(held)
        for _, conditional in entity.describe_conditional_sub_entities():
            yield from _ready_actions(conditional)


def LoadTestsFromPythonModule(module: ModuleType, *, name: str = "launch_tests") -> list[TestRun]:
    """The launches of a module: one, or one for each set of parameters.

    Raises AttributeError without an entry point.
    """
    function = getattr(module, ENTRY_POINT, None)
    if function is None:
        raise AttributeError(f"{module.__name__} has no function {ENTRY_POINT}(), which a launch test needs")
    variants = function() if hasattr(function, "__parametrized__") else [(function, {})]
    return [
        TestRun(
            name,
            variant,
            arguments,
            PreShutdownTestLoader().loadTestsFromModule(module),
            PostShutdownTestLoader().loadTestsFromModule(module),
        )
        for variant, arguments in variants
    ]


def PreShutdownTestLoader() -> unittest.TestLoader:
    """Loads the tests that run beside the launch."""
    return _Loader(post_shutdown=False)


def PostShutdownTestLoader() -> unittest.TestLoader:
    """Loads the tests that run after its end."""
    return _Loader(post_shutdown=True)


class _Loader(unittest.TestLoader):
    """The tests of a module, on classes of their own: what one launch binds does not reach the next."""

    def __init__(self, post_shutdown: bool) -> None:
        super().__init__()
        self._post_shutdown = post_shutdown

    def loadTestsFromModule(
        self, module: ModuleType, *args: Any, pattern: str | None = None
    ) -> unittest.TestSuite:
        own = [
            value
            for value in list(vars(module).values())
            # Also those of other modules, as unittest takes them; its own classes have no tests.
            if isinstance(value, type)
            and issubclass(value, unittest.TestCase)
            and value.__module__.partition(".")[0] != "unittest"
        ]
        return unittest.TestSuite([self.loadTestsFromTestCase(test_class) for test_class in own])

    def loadTestsFromTestCase(self, testCaseClass: type[unittest.TestCase]) -> unittest.TestSuite:
        if getattr(testCaseClass, "__post_shutdown_test__", False) != self._post_shutdown:
            return unittest.TestSuite()
        names = {"__module__": testCaseClass.__module__, "__qualname__": testCaseClass.__qualname__}
        return super().loadTestsFromTestCase(type(testCaseClass.__name__, (testCaseClass,), names))


__getattr__ = not_covered("launch_testing.loader")


# Tests after the end of the processes.


Case = TypeVar("Case", bound=type[unittest.TestCase])


def post_shutdown_test() -> Callable[[Case], Case]:
    """Decorates a test class that runs when all processes have ended."""

    def decorate(test_class: Case) -> Case:
        if not (isinstance(test_class, type) and issubclass(test_class, unittest.TestCase)):
            raise TypeError("post_shutdown_test decorates classes derived from unittest.TestCase")
        test_class.__post_shutdown_test__ = True  # type: ignore[attr-defined]
        return test_class

    return decorate


# One launch for each value.


Description = Callable[..., Any]
Variants = Iterator[tuple[Description, dict[str, Any]]]


def parametrize(
    argnames: str | Iterable[str], argvalues: Iterable[Any]
) -> Callable[[Description], Callable[[], Variants]]:
    """Decorates `generate_test_description`: it is launched once for each value, or tuple of values.

    What is called is then a generator of functions, each with its parameters. Decorators on top of each other
    multiply.
    """
    names = [name.strip() for name in argnames.split(",")] if isinstance(argnames, str) else list(argnames)
    rows = [value if isinstance(value, list | tuple) and len(names) > 1 else (value,) for value in argvalues]

    def decorate(function: Description) -> Callable[[], Variants]:
        @functools.wraps(function)
        def variants() -> Variants:
            inside = function() if hasattr(function, "__parametrized__") else [(function, {})]
            known = list(inside)
            for row in rows:
                arguments = dict(zip(names, row, strict=True))
                for inner, inner_arguments in known:
                    partial = functools.partial(inner, **arguments)
                    functools.update_wrapper(partial, inner)
                    yield partial, {**arguments, **inner_arguments}

        variants.__parametrized__ = True  # type: ignore[attr-defined]
        return variants

    return decorate


# Marks for launch descriptions and tests.


def keep_alive(test_description: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates `generate_test_description`: tests go on when all processes have ended."""
    marks = getattr(test_description, "__markers__", {})
    test_description.__markers__ = {**marks, "keep_alive": True}  # type: ignore[attr-defined]
    return test_description


def retry_on_failure(
    *, times: int, delay: float | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a test: after a failed assertion it is tried again, `times` tries in all, `delay`
    seconds between.
    """
    if times < 1:
        raise ValueError(f"times must be 1 or more, got {times}")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(self: unittest.TestCase, *args: Any, **kwargs: Any) -> Any:
            for _ in range(times - 1):
                try:
                    return function(self, *args, **kwargs)
                except AssertionError:
                    if delay is not None:
                        time.sleep(delay)
            return function(self, *args, **kwargs)

        return wrapper

    return decorate
