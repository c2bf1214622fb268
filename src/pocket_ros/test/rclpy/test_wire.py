"""Endpoints are announced exactly as a full ROS 2 announces those of the same program."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclonedds.builtin import (
    BuiltinDataReader,
    BuiltinTopicDcpsParticipant,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.qos import Qos

RECORDED = json.loads((Path(__file__).parents[1] / "wire" / "endpoints.json").read_text())
LOCAL = """<CycloneDDS><Domain><General><AllowMulticast>false</AllowMulticast></General><Discovery>
<ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers>
</Discovery></Domain></CycloneDDS>"""
# The recording is of the program's own endpoints.
ALSO_THERE = re.compile(r"r[rq]/robot_1/oracle_client/\w+(Reply|Request)|rt/parameter_events|DCPS.*")
ID = re.compile(r"(serviceid|clientid)= ([0-9a-f.]+);")


@pytest.fixture(scope="module")
def announced(start_once: Callable[..., Any], other_domain: int) -> Iterator[dict[str, dict[str, Any]]]:
    """What a plain DDS participant is told of `programs/oracle.py`, by topic."""
    # The domain of the tests is configured by their own participants; a listener needs another.
    os.environ["ROS_DOMAIN_ID"], saved = str(other_domain), os.environ["ROS_DOMAIN_ID"]
    try:
        start_once("oracle").wait_for("ready")
    finally:
        os.environ["ROS_DOMAIN_ID"] = saved
    domain = Domain(other_domain, LOCAL)
    participant = DomainParticipant(other_domain)
    sides = {"publications": BuiltinTopicDcpsPublication, "subscriptions": BuiltinTopicDcpsSubscription}
    found: dict[str, dict[str, Any]] = {side: {} for side in sides}
    readers = {side: BuiltinDataReader(participant, topic) for side, topic in sides.items()}
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        for side, reader in readers.items():
            found[side].update({e.topic_name: e for e in reader.take(500)})
        if all({e["topic"] for e in RECORDED[side]} <= set(found[side]) for side in sides):
            break
        time.sleep(0.02)
    users = BuiltinDataReader(participant, BuiltinTopicDcpsParticipant).take(10)
    found["participants"] = {str(i): policies(p.qos).get("Userdata", "") for i, p in enumerate(users)}
    yield found
    del readers, participant, domain


def policies(qos: Qos) -> dict[str, str]:
    return {policy.__scope__: str(policy) for policy in qos}


@pytest.mark.parametrize("side", ["publications", "subscriptions"])
def test_every_endpoint_is_announced_as_recorded(announced: dict[str, dict[str, Any]], side: str) -> None:
    expected = {e["topic"]: e for e in RECORDED[side]}
    extra = {topic for topic in announced[side] if not ALSO_THERE.fullmatch(topic)}
    assert extra == set(expected)
    for topic, recorded in expected.items():
        found = announced[side][topic]
        assert found.type_name == recorded["type"]
        seen = policies(found.qos)
        assert set(seen) == set(recorded["qos"]), topic
        for policy, value in recorded["qos"].items():
            shown = seen[policy].rpartition("Policy.")[2] if policy == "History" else seen[policy]
            if policy == "History" and side == "subscriptions" and topic.endswith("Reply"):
                value = "KeepLast(depth=1000)"  # deeper on purpose: the answers to all clients come there
            assert ID.sub(r"\1= X;", shown).endswith(ID.sub(r"\1= X;", value)), (topic, policy)


def test_both_ends_of_a_service_carry_one_id(announced: dict[str, dict[str, Any]]) -> None:
    def identity(side: str, topic: str) -> tuple[str, str]:
        match = ID.search(policies(announced[side][topic].qos)["Userdata"])
        assert match is not None
        return match[1], match[2]

    server = identity("subscriptions", "rq/robot_1/addRequest")
    assert server == identity("publications", "rr/robot_1/addReply") and server[0] == "serviceid"
    client = identity("publications", "rq/robot_1/addRequest")
    assert client == identity("subscriptions", "rr/robot_1/addReply") and client[0] == "clientid"
    assert server[1] != client[1]
    assert len(server[1].split(".")) == 16


def test_participants_name_their_enclave(announced: dict[str, dict[str, Any]]) -> None:
    expected = RECORDED["participant_user_data"]
    assert any(expected in user_data for user_data in announced["participants"].values())
