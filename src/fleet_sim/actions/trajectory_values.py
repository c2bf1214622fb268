"""What a trajectory is given as: names of joints, times, and tolerances, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fleet_sim.arrays import Floats, as_floats
from fleet_sim.entities.joint_values import Tolerance
from fleet_sim.errors import InvalidValueError


def read_names(value: object) -> tuple[str, ...]:
    """Return names of joints, each once; raises InvalidValueError."""
    names = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else ()
    if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise InvalidValueError(f"expected at least one name, each once, got {value!r}")
    return names


def read_times(value: object) -> Floats:
    """Return ascending times (P,) in s as a new array; raises InvalidValueError."""
    # A copy: the caller may change his array while the action runs.
    times = as_floats(value, (None,), "times in s").copy()
    if not len(times) or times[0] < 0.0 or (np.diff(times) <= 0.0).any():
        raise InvalidValueError(f"expected numbers of at least 0, each larger than the last, got {value!r}")
    return times


def read_tolerances_by_name(value: Tolerance, names: tuple[str, ...], what: str) -> Floats:
    """Return one tolerance (K,) per joint of `names`, NaN for those without; infinite ones are allowed."""
    tolerances = np.full(len(names), np.nan)
    if value is None:
        return tolerances
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise InvalidValueError(f"{what}: {unknown[0]!r} is not a joint of the trajectory: {', '.join(names)}")
        places, given = [names.index(name) for name in value], list(value.values())
    else:
        places, given = list(range(len(names))), np.broadcast_to(value, (len(names),)).tolist()
    tolerances[places] = given
    if not all(number >= 0.0 for number in given):
        raise InvalidValueError(f"{what} in rad or m: expected numbers of at least 0, got {value!r}")
    return tolerances
