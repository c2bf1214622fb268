"""The schemas of the standard, which are not part of this project."""

from __future__ import annotations

import os

import pytest
from master_control import line
from vehicle_bench import VehicleBench, scenario

NEEDED = pytest.mark.skipif(
    not os.environ.get("VDA5050_SCHEMAS"),
    reason="VDA5050_SCHEMAS is not set: messages are checked against no schema of the standard, see docs/vda5050.md",
)


@NEEDED
@pytest.mark.parametrize("version", ["2.0", "2.1", "3.0"])
def test_states_fit_the_schema_of_their_version(version: str) -> None:
    bench = VehicleBench(scenario(version))
    bench.order(line("o", [(0.0, 0.0), (2.0, 0.0)]))
    # Each state that the bench returns is checked.
    bench.arrive("n1")
    assert bench.state()["orderId"] == "o"
