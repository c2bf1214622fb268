"""Type hashes against those a full ROS 2 announces."""

import json
import re
from pathlib import Path

import pytest

from pocket_ros.interfaces.catalog import type_hash

ENDPOINTS = json.loads((Path(__file__).parents[1] / "wire" / "endpoints.json").read_text())
RECORDED = {
    (e["type"], found[0])
    for side in ("publications", "subscriptions")
    for e in ENDPOINTS[side]
    if (found := re.search(r"RIHS01_\w+", e["qos"]["Userdata"]))
}


@pytest.mark.parametrize(("dds_type", "expected"), sorted(RECORDED))
def test_hashes_are_those_on_the_wire(dds_type: str, expected: str) -> None:
    package, kind, _, base = dds_type.split("::")
    assert type_hash(f"{package}/{kind}/{base[:-1]}") == expected


def test_the_hash_of_a_whole_service_is_that_of_ros() -> None:
    known = "RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a"
    assert type_hash("example_interfaces/srv/AddTwoInts") == known
