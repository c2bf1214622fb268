"""What is recorded, one kind of topic per file, in the order in which it is written.

A topic names its message type and writes from samples, not from the world, as it runs in the process that writes.
"""

from __future__ import annotations

from fleet_sim.record.topic import RecordedTopic
from fleet_sim.record.topics.bodies import RecordedBodies
from fleet_sim.record.topics.clock import RecordedClock
from fleet_sim.record.topics.collisions import RecordedCollisions
from fleet_sim.record.topics.frames import RecordedFrames
from fleet_sim.record.topics.joints import RecordedJoints
from fleet_sim.record.topics.markers import RecordedMarkers
from fleet_sim.record.topics.orders import RecordedOrders
from fleet_sim.record.topics.plans import RecordedPlans
from fleet_sim.record.topics.states import RecordedStates

TOPICS: tuple[type[RecordedTopic], ...] = (
    RecordedClock,
    RecordedBodies,
    RecordedFrames,
    RecordedMarkers,
    RecordedStates,
    RecordedJoints,
    RecordedPlans,
    RecordedCollisions,
    RecordedOrders,
)
