"""No ROS at all: what a node '/old' of ROS 2 Humble announces, with topics that it repeats.

Endpoints have no type hash, and guids in `ros_discovery_info` have 24 bytes.
"""

import os
import time
from dataclasses import dataclass

from cyclonedds.core import Entity
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, sequence, uint8
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic


@dataclass
class String(IdlStruct, typename="std_msgs::msg::dds_::String_"):
    data: str


@dataclass
class Gid(IdlStruct, typename="rmw_dds_common::msg::dds_::Gid_"):
    data: array[uint8, 24]


@dataclass
class NodeEntitiesInfo(IdlStruct, typename="rmw_dds_common::msg::dds_::NodeEntitiesInfo_"):
    node_namespace: str
    node_name: str
    reader_gid_seq: sequence[Gid]
    writer_gid_seq: sequence[Gid]


@dataclass
class ParticipantEntitiesInfo(IdlStruct, typename="rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"):
    gid: Gid
    node_entities_info_seq: sequence[NodeEntitiesInfo]


def gid(entity: Entity) -> Gid:
    return Gid(list(entity.guid.bytes) + [0] * 8)


number = int(os.environ["ROS_DOMAIN_ID"])
domain = Domain(
    number,
    "<CycloneDDS><Domain><General><AllowMulticast>false</AllowMulticast></General><Discovery>"
    '<ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers>'
    "</Discovery></Domain></CycloneDDS>",
)
participant = DomainParticipant(number, qos=Qos(Policy.Userdata(b"enclave=/;")))
as_ros = (
    Policy.Reliability.Reliable(10**9),
    Policy.History.KeepLast(10),
    Policy.DataRepresentation(use_cdrv0_representation=True),
)
reader = DataReader(participant, Topic(participant, "rt/to_old", String), Qos(*as_ros))
writer = DataWriter(participant, Topic(participant, "rt/from_old", String), Qos(*as_ros))
kept = Qos(*as_ros, Policy.Durability.TransientLocal)
topic = Topic(participant, "ros_discovery_info", ParticipantEntitiesInfo)
announcer = DataWriter(participant, topic, kept)
nodes = [NodeEntitiesInfo("/", "old", [gid(reader)], [gid(writer)]), NodeEntitiesInfo("/ns", "bare", [], [])]
announcer.write(ParticipantEntitiesInfo(gid(participant), nodes))
print("ready", flush=True)
while True:
    for message in reader.take(10):
        writer.write(message)
    time.sleep(0.01)
