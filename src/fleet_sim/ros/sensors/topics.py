"""Base of sensor topics: publishers, and readings only while there are subscribers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.sensors.names import frame_of, is_published, topic_of
from fleet_sim.sensors import Readings, Sensor

POLLED = 64
"""Number of publishers of a kind whose subscribers are counted per step."""


class Channel:
    """The publisher of one sensor; `slot` is its index among the sensors of its kind."""

    def __init__(self, sensor: Sensor, publisher: Any) -> None:
        self.sensor = sensor
        self.publisher = publisher
        self.slot = -1
        self._listening = False

    def listen(self, wanted: bool) -> None:
        """Subscribe to the sensor's readings while `wanted` is true."""
        # A removed sensor has no readings to subscribe to, and its channel goes with the next refresh.
        if wanted == self._listening or not self.sensor.is_alive:
            return
        self._listening = wanted
        if wanted:
            self.sensor.subscribe()
        else:
            self.sensor.unsubscribe()


class SensorTopics(Interface):
    """Publishes the readings of the sensors of one kind, each on a topic of its own, with the sensor-data profile.

    A sensor is read at its own rate while its topic has subscribers.
    """

    sensor_type: ClassVar[str] = ""
    message_type: ClassVar[Any] = None
    suffix: ClassVar[str] = ""
    """Suffix of the topic after the sensor's name, for sensors with several topics."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self.channels: list[Channel] = []
        self._by_sensor: dict[Sensor, Channel] = {}
        self._version = -1
        self._asked = 0

    def on_fleet_changed(self, roster: Roster) -> None:
        self._refresh()

    def receive(self) -> None:
        """Follow sensors that were added and removed, and ask some topics whether they have subscribers."""
        if self.bridge.sim.sensors.version != self._version:
            self._refresh()
        # Counting subscribers is a call into the middleware for each topic, so they take turns.
        for _ in range(min(POLLED, len(self.channels))):
            self._asked = (self._asked + 1) % len(self.channels)
            channel = self.channels[self._asked]
            channel.listen(channel.publisher.get_subscription_count() > 0)

    def publish(self, now: int) -> None:
        """Send what was read in this step; what was not read is not published again."""
        for readings in self.bridge.sim.sensors.fresh:
            if readings.sensors[0].type == self.sensor_type:
                self.send(readings, now)

    def send(self, readings: Readings, now: int) -> None:
        """Publish the readings with the stamp `now` in ns."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Called when `channels` has changed."""

    def wants_sensor(self, sensor: Sensor) -> bool:
        """Return whether a sensor of the kind has this topic."""
        return True

    def with_channels(self, readings: Readings) -> Iterator[tuple[int, Channel]]:
        """Yield the index in `readings` and the channel of each sensor that has one."""
        for index, sensor in enumerate(readings.sensors):
            channel = self._by_sensor.get(sensor)
            if channel is not None:
                yield index, channel

    def _refresh(self) -> None:
        """Make publishers for sensors that came, and destroy those of sensors that went."""
        bridge = self.bridge
        self._version = bridge.sim.sensors.version
        own = [one for one in bridge.sim.sensors.all if one.type == self.sensor_type and self.wants_sensor(one)]
        wanted = [sensor for sensor in own if is_published(bridge, sensor)]
        gone = self._by_sensor.keys() - set(wanted)
        # Mostly nothing changed for this kind: robots spawned without such sensors raise the version too.
        if not gone and len(wanted) == len(self._by_sensor):
            return
        for sensor in gone:
            channel = self._by_sensor.pop(sensor)
            channel.listen(False)
            bridge.robots.destroy_publisher(channel.publisher)
        for sensor in wanted:
            if sensor not in self._by_sensor:
                topic = f"{topic_of(sensor)}/{self.suffix}" if self.suffix else topic_of(sensor)
                publisher = bridge.robots.create_publisher(self.message_type, topic, qos.SENSOR)
                self._by_sensor[sensor] = Channel(sensor, publisher)
        self.channels = [self._by_sensor[sensor] for sensor in wanted]
        for slot, channel in enumerate(self.channels):
            channel.slot = slot
        self.prepare()


class MessageTopics(SensorTopics):
    """Keeps a message for each sensor, with its constant fields; `send` writes readings into them."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._messages: list[Any] = []

    def message_of(self, channel: Channel) -> Any:
        """Return the message of one sensor with its constant fields."""
        return self.message(channel.sensor.params, self.frame_of(channel.sensor))

    def message(self, params: Any, frame: str) -> Any:
        """Return the message of a sensor with `params`, in `frame`; see `message_of`."""
        raise NotImplementedError

    def frame_of(self, sensor: Sensor) -> str:
        """Return the name of the frame that the readings of `sensor` are in."""
        return frame_of(self.bridge.frames, sensor)

    def prepare(self) -> None:
        self._messages = [self.message_of(channel) for channel in self.channels]

    def period_of(self, channel: Channel) -> float:
        """Return the time in s between readings of a sensor; without a rate it is read in each step."""
        rate = channel.sensor.params.rate
        return self.bridge.sim.clock.dt if rate is None else 1.0 / rate
