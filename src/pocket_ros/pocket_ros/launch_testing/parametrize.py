"""One launch for each value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Description = Callable[..., Any]


def parametrize(
    argnames: str | Iterable[str], argvalues: Iterable[Any]
) -> Callable[[Description], Description]:
    """Decorates `generate_test_description`: it is launched once for each value, or tuple of values.

    Decorators on top of each other multiply.
    """
    names = [name.strip() for name in argnames.split(",")] if isinstance(argnames, str) else list(argnames)
    rows = [value if isinstance(value, list | tuple) and len(names) > 1 else (value,) for value in argvalues]

    def decorate(function: Description) -> Description:
        def variants() -> Iterator[tuple[Description, dict[str, Any]]]:
            for row in rows:
                arguments = dict(zip(names, row, strict=True))
                if hasattr(function, "__parametrized__"):
                    for inner, inner_arguments in function.__parametrized__():
                        yield functools.partial(inner, **arguments), {**arguments, **inner_arguments}
                else:
                    yield functools.partial(function, **arguments), arguments

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        wrapper.__parametrized__ = variants  # type: ignore[attr-defined]
        return wrapper

    return decorate
