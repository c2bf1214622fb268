"""The markers that the node publishes: what they show, and which are sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from node_program import THREE_ROBOTS, Running, SharedNode, drive, shared_node
from visualization_msgs.msg import Marker, MarkerArray


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedNode]:
    with shared_node(tmp_path_factory.mktemp("node"), scenario=THREE_ROBOTS) as node:
        yield node


def viewed(arrays: list[MarkerArray]) -> list[Marker]:
    """Return the markers as a viewer keeps them, in the order in which they came first."""
    kept: dict[tuple[str, int], Marker] = {}
    for marker in (marker for array in arrays for marker in array.markers):
        if marker.action == Marker.DELETEALL:
            kept.clear()
        else:
            kept[marker.ns, marker.id] = marker
    return list(kept.values())


def test_markers_are_sent_of_what_moves_and_all_to_who_comes_later(fleet: Running) -> None:
    _, client = fleet
    arrays = client.listen(MarkerArray, "/fleet/markers")
    client.until(lambda: len(viewed(arrays)) == 4, "all markers")
    complete = len(arrays)
    drive(client, "amr_1", 0.2)
    client.until(lambda: viewed(arrays)[1].pose.position.x > 0.5, "a marker that moves")
    moving = [array.markers for array in arrays[complete:] if len(array.markers) != 4]
    assert {tuple((one.ns, one.type, one.pose.position.y) for one in markers) for markers in moving} == {
        (("robots", Marker.CUBE, 3.0),)
    }
    later = client.listen(MarkerArray, "/fleet/markers")
    client.until(lambda: len(viewed(later)) == 4, "all markers for who comes later")
    # From time to time all are sent again, so that nothing stays wrong that was lost.
    drive(client, "amr_1", 0.0)
    until = len(arrays)
    client.until(lambda: any(len(array.markers) == 4 for array in arrays[until:]), "all markers again")
    assert [marker.pose.position.x > 0.5 for marker in viewed(arrays)] == [False, True, False, True]
