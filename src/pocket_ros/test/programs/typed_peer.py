"""No ROS at all: echoes a Twist with the Python binding of Cyclone DDS and types of its own.

An argument is the address of the only interface it is to use.
"""

import os
import sys
import time
from dataclasses import dataclass

from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic


@dataclass
class Vector3(IdlStruct, typename="geometry_msgs::msg::dds_::Vector3_"):
    x: float64
    y: float64
    z: float64


@dataclass
class Twist(IdlStruct, typename="geometry_msgs::msg::dds_::Twist_"):
    linear: Vector3
    angular: Vector3


number = int(os.environ["ROS_DOMAIN_ID"])
chosen = "".join(f'<Interfaces><NetworkInterface address="{a}"/></Interfaces>' for a in sys.argv[1:])
domain = Domain(
    number,
    f"<CycloneDDS><Domain><General>{chosen}<AllowMulticast>false</AllowMulticast></General><Discovery>"
    '<ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers>'
    "</Discovery></Domain></CycloneDDS>",
)
participant = DomainParticipant(number)
qos = Qos(
    Policy.Reliability.Reliable(10**9),
    Policy.History.KeepLast(10),
    Policy.DataRepresentation(use_cdrv0_representation=True),
)
reader = DataReader(participant, Topic(participant, "rt/to_peer", Twist), qos)
writer = DataWriter(participant, Topic(participant, "rt/from_peer", Twist), qos)
print("ready", flush=True)
while True:
    for twist in reader.take(10):
        print("received", twist.linear.x, twist.angular.z, flush=True)
        writer.write(twist)
    time.sleep(0.01)
