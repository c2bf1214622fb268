"""Peers of another DDS vendor: their topics are heard, their services are neither called nor answered."""

import struct
from collections.abc import Iterator

import pytest
import rclpy
from example_interfaces.srv import AddTwoInts
from rclpy.exceptions import RCLError
from rclpy.node import Node
from rclpy.utilities import get_default_context
from rtps_peer import RtpsPeer
from std_msgs.msg import String

CDR = b"\0\1\0\0"
REQUESTS = "rq/addRequest", "example_interfaces::srv::dds_::AddTwoInts_Request_"
REPLIES = "rr/addReply", "example_interfaces::srv::dds_::AddTwoInts_Response_"
NODES = "ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"


@pytest.fixture
def peer(ros: None) -> Iterator[RtpsPeer]:
    peer = RtpsPeer(get_default_context().get_domain_id())
    yield peer
    peer.close()


def name_node(peer: RtpsPeer, readers: list[bytes], writers: list[bytes]) -> None:
    """Announce the node '/other' with these endpoints."""
    info = CDR + peer.guid + struct.pack("<II2s2xI6s2x", 1, 2, b"/\0", 6, b"other\0")
    for guids in (readers, writers):
        info += struct.pack("<I", len(guids)) + b"".join(guids)
    peer.write(peer.writer(*NODES, transient_local=True), info)


def offer_add(peer: RtpsPeer) -> bytes:
    """Announce a server of 'add'; the guid of what writes its replies."""
    replies = peer.writer(*REPLIES)
    name_node(peer, [peer.reader(*REQUESTS)], [replies])
    return replies


def test_a_topic_of_another_vendor_is_heard(peer: RtpsPeer) -> None:
    node, heard = Node("here"), []
    node.create_subscription(String, "words", lambda message: heard.append(message.data), 10)
    peer.write(
        peer.writer("rt/words", "std_msgs::msg::dds_::String_"), CDR + struct.pack("<I4s", 4, b"ola\0")
    )
    while not heard:
        rclpy.spin_once(node, timeout_sec=5)
    assert heard[0] == "ola"


def test_a_server_of_another_vendor_is_named_once_and_never_called(
    peer: RtpsPeer, capfd: pytest.CaptureFixture[str]
) -> None:
    offer_add(peer)
    node = Node("here")
    client = node.create_client(AddTwoInts, "add")
    assert node.wait_for_node("other", timeout=20)
    while node.count_services("add") == 0:
        assert not client.wait_for_service(timeout_sec=0.05)
    assert not client.service_is_ready() and not client.service_is_ready()
    with pytest.raises(RCLError, match=r"'/add' is not called: node '/other' \(eProsima Fast DDS\)"):
        client.call_async(AddTwoInts.Request(a=1, b=2))
    assert capfd.readouterr().err.count("service '/add' is offered by node '/other' (eProsima Fast DDS)") == 1


def test_what_another_vendor_asks_and_answers_reaches_nobody(
    peer: RtpsPeer, capfd: pytest.CaptureFixture[str]
) -> None:
    node, asked = Node("here"), []

    def add(request: AddTwoInts.Request, response: AddTwoInts.Response) -> AddTwoInts.Response:
        asked.append(request.a)
        response.sum = request.a + request.b
        return response

    node.create_service(AddTwoInts, "add", add)
    client = node.create_client(AddTwoInts, "add")
    requests, replies = peer.writer(*REQUESTS), peer.writer(*REPLIES)
    name_node(peer, [], [requests, replies])
    assert node.wait_for_node("other", timeout=20)
    # As long as requests with a header, which it might be taken for.
    peer.write(requests, CDR + struct.pack("<4q", 1, 2, 3, 4))
    peer.write(replies, CDR + struct.pack("<q", 5))
    told, warning = "", "service '/add' is called by node '/other' (eProsima Fast DDS)"
    while warning not in told:
        rclpy.spin_once(node, timeout_sec=5)
        told += capfd.readouterr().err
    future = client.call_async(AddTwoInts.Request(a=40, b=2))
    rclpy.spin_until_future_complete(node, future, timeout_sec=20)
    assert future.result().sum == 42 and asked == [40]
    assert told.count("called by") == 1 and "received a reply" not in told + capfd.readouterr().err
