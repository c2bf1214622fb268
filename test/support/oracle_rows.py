"""Which number that leaves the program is held by which test, and by which fault that test has been seen to fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


class Row(NamedTuple):
    """One test and the fields that it compares with an independent value."""

    fields: tuple[str, ...]
    fault: str
    test: str


ROWS: list[Row] = []


def holds(*fields: str, fault: str) -> Callable[[Test], Test]:
    """Register a test as the oracle of `fields`; a decorator.

    A field is `<where>:<name>`, with `*` for many: `ros:nav_msgs/Odometry.twist.twist.linear.x`,
    `vda5050:state.batteryState.batteryCharge`, `report:orders.late`, `record:velocity`, `env:Navigation-v0.reward`,
    `api:Agent.velocity`. `fault` names a small change of the sources that the test has been seen to fail on, with the
    place: "sensing/sensors/imu.py: the sideways velocity has the other sign".
    """
    assert fields and fault

    def register(test: Test) -> Test:
        ROWS.append(Row(fields, fault, f"{test.__module__}.{test.__qualname__}"))
        return test

    return register
