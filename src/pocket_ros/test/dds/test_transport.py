"""Raw CDR between participants, wait sets, discovery."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from pocket_ros.dds.discovery import Discovery
from pocket_ros.dds.domain import configuration, discovery_range
from pocket_ros.dds.endpoints import BEST_EFFORT, KEEP_ALL, TRANSIENT_LOCAL, EndpointQos
from pocket_ros.dds.library import DDSError
from pocket_ros.dds.participant import Guard, Participant, WaitSet

TYPE = "std_msgs::msg::dds_::String_"
SECOND = 10**9


@pytest.fixture
def pair() -> Iterator[tuple[Participant, Participant]]:
    domain = int(os.environ["ROS_DOMAIN_ID"])
    first, second = Participant(domain, b"enclave=/;"), Participant(domain, b"enclave=/x;")
    yield first, second
    first.close()
    second.close()
    second.close()


def cdr(text: bytes) -> bytes:
    return b"\x00\x01\x00\x00" + (len(text) + 1).to_bytes(4, "little") + text + b"\x00"


def test_samples_arrive_whole_whatever_their_size(pair: tuple[Participant, Participant]) -> None:
    sender, receiver = pair
    qos = EndpointQos(durability=TRANSIENT_LOCAL, history=KEEP_ALL, depth=0)
    writer = sender.create_writer("rt/topic", TYPE, qos, b"typehash=x;")
    reader = receiver.create_reader("rt/topic", TYPE, qos, b"typehash=x;")
    wait_set = WaitSet()
    wait_set.attach(reader.condition, 7)
    for size in (0, 1, 2, 3, 1000, 3_000_000):
        data = cdr(b"x" * size)
        writer.write(data)
        received = None
        while received is None:
            assert wait_set.wait(10 * SECOND) == [7]
            received = reader.take()
        assert received[0][: len(data)] == data
        assert received[1].publication_handle in reader.matched_handles()
    assert reader.take() is None
    assert wait_set.wait(0) == []
    wait_set.close()


def test_one_topic_has_many_endpoints_and_goes_with_the_last(pair: tuple[Participant, Participant]) -> None:
    participant, _ = pair
    writers = [participant.create_writer("rt/shared", TYPE, EndpointQos(), b"") for _ in range(3)]
    reader = participant.create_reader("rt/shared", TYPE, EndpointQos(), b"")
    assert [w.matched_count() for w in writers] == [1, 1, 1]
    assert reader.matched_count() == 3
    assert len({w.guid for w in writers}) == len({w.instance_handle() for w in writers}) == 3
    for writer in writers:
        writer.close()
    assert reader.matched_count() == 0
    again = participant.create_writer("rt/shared", TYPE, EndpointQos(), b"")
    assert again.matched_count() == 1


def test_types_and_policies_decide_who_matches(pair: tuple[Participant, Participant]) -> None:
    participant, _ = pair
    participant.create_reader("rt/a", "std_msgs::msg::dds_::Bool_", EndpointQos(), b"")
    participant.create_reader("rt/a", TYPE, EndpointQos(reliability=BEST_EFFORT), b"")
    writer = participant.create_writer("rt/a", TYPE, EndpointQos(reliability=BEST_EFFORT), b"")
    assert writer.matched_count() == 1


def test_an_endpoint_alone_matches_nobody(pair: tuple[Participant, Participant]) -> None:
    participant, _ = pair
    writer = participant.create_writer("rt/alone", TYPE, EndpointQos(), b"")
    assert writer.matched_handles() == []
    reader = participant.create_reader("rt/alone_too", TYPE, EndpointQos(), b"")
    assert reader.matched_handles() == []
    assert writer.matched_count() == reader.matched_count() == 0


def test_a_guard_wakes_a_wait_set_until_it_is_reset(pair: tuple[Participant, Participant]) -> None:
    participant, _ = pair
    guard, wait_set = Guard(participant), WaitSet()
    wait_set.attach(guard.handle, 3)
    guard.trigger()
    assert wait_set.wait(SECOND) == wait_set.wait(SECOND) == [3]
    assert guard.reset()
    assert not guard.reset()
    assert wait_set.wait(0) == []
    guard.trigger()
    wait_set.detach(guard.handle)
    assert wait_set.wait(0) == []


def test_discovery_sees_endpoints_come_and_go(pair: tuple[Participant, Participant]) -> None:
    sender, receiver = pair
    discovery = Discovery(receiver)
    writer = sender.create_writer("rt/seen", TYPE, EndpointQos(depth=3), b"typehash=x;")

    def found() -> list[bytes]:
        return [e.guid for e in discovery.writers() if e.topic == "rt/seen"]

    deadline = time.monotonic() + 10
    while not found() and time.monotonic() < deadline:
        time.sleep(0.01)
    (endpoint,) = [e for e in discovery.writers() if e.topic == "rt/seen"]
    assert (endpoint.type_name, endpoint.user_data, endpoint.qos.depth) == (TYPE, b"typehash=x;", 3)
    assert endpoint.participant == sender.guid
    assert discovery.participants()[sender.guid] == b"enclave=/;"
    writer.close()
    while found() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not found()


def test_wrong_configurations_are_errors(monkeypatch: pytest.MonkeyPatch, other_domain: int) -> None:
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "EVERYWHERE")
    with pytest.raises(ValueError, match="SUBNET, LOCALHOST, OFF, SYSTEM_DEFAULT"):
        discovery_range()
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("CYCLONEDDS_URI", "<CycloneDDS><Nonsense/></CycloneDDS>")
    with pytest.raises(DDSError, match=f"domain {other_domain}"):
        Participant(other_domain, b"")


def test_a_peer_without_an_address_is_an_error(monkeypatch: pytest.MonkeyPatch, other_domain: int) -> None:
    for wrong in ("nowhere.invalid", "nowhere.invalid:7410", "127.0.0.1:port", "::1", "a" * 64 + ".invalid"):
        monkeypatch.setenv("ROS_STATIC_PEERS", f"127.0.0.1;{wrong}")
        with pytest.raises(ValueError, match="no address"):
            Participant(other_domain, b"")
    monkeypatch.setenv("ROS_STATIC_PEERS", "127.0.0.1;127.0.0.1:7410")
    Participant(other_domain, b"").close()


def test_the_environment_makes_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_STATIC_PEERS", "10.0.0.1;10.0.0.2")
    monkeypatch.setenv("CYCLONEDDS_URI", "file:///mine.xml")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    text = configuration()
    assert "AllowMulticast" not in text
    assert text.index("127.0.0.1") < text.index("10.0.0.1") < text.index("10.0.0.2")
    assert text.endswith(",file:///mine.xml")
    monkeypatch.setenv(
        "CYCLONEDDS_URI", '<General><Interfaces><NetworkInterface name="lo"/></Interfaces></General>'
    )
    assert configuration().count("<NetworkInterface ") == 1
    monkeypatch.setenv("ROS_LOCALHOST_ONLY", "1")
    text = configuration()
    assert "<AllowMulticast>false" in text
    assert "127.0.0.1" in text and "10.0.0.1" not in text


@pytest.mark.parametrize(
    ("environment", "reach"),
    [
        ({}, "LOOPBACK"),
        ({"ROS_LOCALHOST_ONLY": "0"}, "SUBNET"),
        ({"ROS_LOCALHOST_ONLY": "1"}, "LOCALHOST"),
        ({"ROS_STATIC_PEERS": "127.0.0.1"}, "LOCALHOST"),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF", "ROS_STATIC_PEERS": "127.0.0.1"}, "OFF"),
        ({"CYCLONEDDS_URI": "<Discovery><Peers><Peer address='127.0.0.1'/></Peers></Discovery>"}, "SUBNET"),
        ({"CYCLONEDDS_URI": "<Tracing><Verbosity>none</Verbosity></Tracing>"}, "LOOPBACK"),
    ],
)
def test_more_than_the_loopback_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], reach: str
) -> None:
    names = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS", "CYCLONEDDS_URI")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert discovery_range() == reach


def send_garbage(domain: int) -> None:
    """Send packets that begin as those of DDS to whatever listens in the domain on this machine."""
    head = b"RTPS\x02\x03\x01\x10" + bytes(12)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for port in range(7400 + 250 * domain + 10, 7400 + 250 * domain + 50):
            sender.sendto(head + b"\x06\x01\x04\x00" + b"\xff" * 4, ("127.0.0.1", port))


def test_packets_that_are_no_messages_write_no_lines_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    domain, tracing = (
        int(os.environ["ROS_DOMAIN_ID"]),
        "<Verbosity>warning</Verbosity><OutputFile>stderr</OutputFile>",
    )
    monkeypatch.setenv(
        "CYCLONEDDS_URI", f"<CycloneDDS><Domain><Tracing>{tracing}</Tracing></Domain></CycloneDDS>"
    )
    talking = Participant(domain, b"enclave=/;")
    text = ""
    while "malformed packet" not in text:
        send_garbage(domain)
        text = capfd.readouterr().err
    talking.close()
    monkeypatch.delenv("CYCLONEDDS_URI")
    silent = Participant(domain, b"enclave=/;")
    capfd.readouterr()
    for _ in range(100):
        send_garbage(domain)
    silent.close()
    assert capfd.readouterr().err == ""


def test_what_ctrl_c_leaves_unknown_does_not_crash_the_end(other_domain: int) -> None:
    # The handler of a signal raises as soon as a call into Cyclone is back, before its result is noted.
    code = f"""
from pocket_ros.dds import participant
from pocket_ros.dds.endpoints import EndpointQos

class Interrupted:
    def __getattr__(self, name):
        return getattr(lib, name)
    def dds_create_reader(self, *arguments):
        lib.dds_create_reader(*arguments)
        raise KeyboardInterrupt

ours = participant.Participant({other_domain}, b"")
lib, participant.lib = participant.lib, Interrupted()
try:
    ours.create_reader("rt/chatter", "std_msgs::msg::dds_::String_", EndpointQos(), b"")
except KeyboardInterrupt:
    participant.lib = lib
    ours.close()
    print("closed")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "closed\n"), done.stderr
