"""One launch for each value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

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
