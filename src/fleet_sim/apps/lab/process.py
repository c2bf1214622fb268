"""ProgramHost: a manager that is a program, started, watched, killed and started again by the lab; here by MQTT.

The vehicles stay on the bus of the lab, with all that goes wrong there. What reaches the manager is published on a
broker of its own on the loopback, as the vehicles would, and what it publishes is taken from there. Its time is the
wall clock: the world waits for it, and it gets `1 / factor` seconds for each simulated one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from fleet_sim.apps.lab.managers import ManagerHost, Report
from fleet_sim.apps.lab.settings import ManagerSettings
from fleet_sim.base.errors import ConfigError, of_extra
from fleet_sim.base.files import make_folder, opened, program_named, read_text, scratch_folder, write_file
from fleet_sim.base.parallel import GROUPS, computes, end_group, memory_of_group

with of_extra("paho.mqtt", "vda5050", "a manager that speaks MQTT"):
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

LIMIT = 10.0
"""How long (s) a broker or a program may take to come or go."""
PATIENCE = 6.0
"""A program that computes may take so many times `start_within` to start."""
MORE = 1.0
"""How much more time (s) of its own than `factor` says a program gets for a step while it computes."""
LOOPBACK = "127.0.0.1"
SUBSCRIPTIONS = "$SYS/broker/subscriptions/count"
"""Where mosquitto tells how many there are."""


def reserved_port() -> socket.socket:
    """Return a socket with a port of the loopback that nobody else is given while it is open, and a broker may use."""
    sock = socket.socket()
    sock.bind((LOOPBACK, 0))
    # Who asks for this port by its number gets it, as brokers do; who asks for any port gets another one.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return sock


class ProgramHost(ManagerHost):
    """A manager that is a program: `words` are its command, with {site}, {storage} and what `given` has filled in."""

    def __init__(
        self,
        settings: ManagerSettings,
        site: dict[str, Any],
        vehicles: list[dict[str, Any]],
        report: Report,
        step: float,
    ) -> None:
        super().__init__()
        self._settings, self._report, self._step = settings, report, step
        self._scratch = scratch_folder("fleet_sim-lab-")
        self.folder = self._scratch.__enter__()
        write_file(self.folder / "site.json", json.dumps({"site": site, "vehicles": vehicles}))
        make_folder(self.folder / "storage")
        self._process: subprocess.Popen[bytes] | None = None
        self._at_first: float | None = None
        self._clock: tuple[float, float] | None = None

    def _begin(self, command: str, environment: Mapping[str, str], **given: Any) -> None:
        """Start the program and wait until it listens; raises ConfigError where there is none."""
        # What one that has ended by itself may have left.
        self._die()
        given |= {"site": self.folder / "site.json", "storage": self.folder / "storage"}
        words = [word.format(**given) for word in shlex.split(command)]
        if words[0] in ("python", "python3"):
            words[0] = sys.executable
        with opened(self.folder / "log.txt", "ab") as log:
            try:
                self._process = subprocess.Popen(
                    words,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    env={**os.environ, **environment},
                )
                GROUPS.add(self._process.pid)
            except OSError as error:
                raise ConfigError(f"{words[0]!r} cannot be started: {error}", path="manager") from error
        self.alive, self._clock, self._at_first = True, None, None
        # What is said before it listens is lost. The world stands still meanwhile.
        begin, idle, most = time.monotonic(), 0.0, self._settings.start_within
        while self.alive and not self._listens():
            self._look()
            if idle > most or time.monotonic() > begin + PATIENCE * most:
                self._is_late()
                return
            before = time.monotonic()
            self._wait(0.02)
            # While it computes it is about to start, as slowly as the machine lets it.
            idle += 0.0 if computes(self._process.pid) else time.monotonic() - before

    def _look(self) -> None:
        """See whether the program has ended by itself."""
        if self.alive and self._process is not None and self._process.poll() is not None:
            tail = read_text(self.folder / "log.txt")[-2000:]
            self.crash = f"{tail}\nit ended with code {self._process.returncode}"
            self.alive = False

    @abstractmethod
    def _listens(self) -> bool:
        """Return whether the program would get an order now."""

    @abstractmethod
    def _wait(self, seconds: float) -> None:
        """Let so much real time pass."""

    @abstractmethod
    def _take(self) -> None:
        """Hand over what the program has sent."""

    def _is_late(self) -> None:
        """It does not listen after `start_within` s."""
        self.crash = f"it has not subscribed to anything within {self._settings.start_within:g} s"
        self._die()

    def close(self) -> None:
        """End program and folder."""
        self._die()
        self._scratch.__exit__(None, None, None)

    def memory(self) -> float:
        """Return by how much it has grown, with all that it started, since this was asked first, in MB."""
        if self._process is None or not self.alive:
            return 0.0
        size = memory_of_group(self._process.pid)
        if self._at_first is None:
            # A program brings its language with it.
            self._at_first = size
        return size - self._at_first

    def pace(self, now: float) -> None:
        """Wait until the wall clock is where the simulated one is, and take in what the program has sent."""
        wall = time.monotonic()
        if self._clock is None:
            self._clock = now, wall
        due = self._clock[1] + (now - self._clock[0] + self._step) / self._settings.factor
        while True:
            self._wait(min(max(due - time.monotonic(), 0.0), 0.005))
            self._take()
            left = due - time.monotonic()
            if left <= 0.0:
                break
        # A program that has not done with what it got, as on a busy machine, has more time.
        while self._process is not None and computes(self._process.pid) and time.monotonic() < due + MORE:
            self._wait(0.002)
            self._take()
        # A machine that is too slow makes the world slower, and takes no time from the program.
        if due < time.monotonic() - 0.1:
            self._clock = now, time.monotonic()
        self._look()

    def _take_report(self, payload: bytes | str) -> None:
        """Read a report of the program; what is none counts nothing."""
        words: tuple[str, str, str] | None = None
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            said = json.loads(payload)
            words = str(said["id"]), str(said["status"]), str(said.get("reason", ""))
        if words:
            self._report(*words)

    def _die(self) -> None:
        self.alive, self._after = False, None
        if self._process is not None:
            # With all that it has started: an adapter starts the manager itself.
            end_group(self._process.pid)
            self._process.wait()
        self._process = None


class ProcessHost(ProgramHost):
    """One that speaks MQTT. Where mosquitto is installed, it is the broker; else the small one of fleet_sim."""

    def __init__(
        self,
        settings: ManagerSettings,
        site: dict[str, Any],
        vehicles: list[dict[str, Any]],
        publish: Callable[[str, bytes | str, bool], bool],
        report: Report,
        step: float,
    ) -> None:
        super().__init__(settings, site, vehicles, report, step)
        self._publish = publish
        self._prefixes = [vehicle["prefix"] for vehicle in vehicles]
        self._reserved = reserved_port()
        self.port = int(self._reserved.getsockname()[1])
        self._broker: Any = None
        self._came: deque[tuple[str, bytes, bool]] = deque()
        self._start_broker()

    # ---- ManagerHost -------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        """Start the program; raises ConfigError where there is none."""
        self._begin(self._settings.command, {}, port=self.port)

    def _listens(self) -> bool:
        return self._subscriptions > self._own_subscriptions

    def _is_late(self) -> None:
        # The small broker does not tell who listens.
        if isinstance(self._broker, subprocess.Popen):
            super()._is_late()

    def call(self, name: str, *given: Any) -> bool:
        """Publish what comes for it; return whether it is there to get it."""
        if not self.alive:
            return False
        if name == "on_message":
            topic, payload, _, retained = given
            self._client.publish(topic, payload, qos=0, retain=retained)
        elif name in ("order", "cancel"):
            if isinstance(self._broker, subprocess.Popen) and not self._listens():
                # Its connection is cut: it is given the order when it listens again.
                return False
            body = {"do": name, **(given[0] if name == "order" else {"id": given[0]})}
            self._client.publish(self._settings.orders, json.dumps(body), qos=1)
        elif name == "on_connection" and not given[0]:
            self._drop()
        return True

    def close(self) -> None:
        """End program, broker and folder."""
        self._die()
        self._stop_broker()
        self._reserved.close()
        super().close()

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def _take(self) -> None:
        while self._came:
            topic, payload, retained = self._came.popleft()
            if topic == self._settings.reports:
                self._take_report(payload)
            elif self.alive:
                self._publish(topic, payload, retained)
                if self._sent_its_last():
                    self._die()

    def _drop(self) -> None:
        """Break its connection: the broker goes, and comes again with what is retained."""
        self._stop_broker()
        self._start_broker()

    def _start_broker(self) -> None:
        program = program_named("mosquitto", also="/usr/sbin:/usr/local/sbin")
        if program is not None:
            rules = f"listener {self.port} {LOOPBACK}\nallow_anonymous true\nmax_queued_messages 0\nsys_interval 1\n"
            rules += f"persistence true\npersistence_location {self.folder}/\n"
            write_file(self.folder / "broker.conf", rules)
            self._broker = subprocess.Popen(
                [program, "-c", str(self.folder / "broker.conf")],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            GROUPS.add(self._broker.pid)
        else:
            from fleet_sim.warehouse.vda5050.broker import OwnBroker

            self._broker = OwnBroker(self.port)
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id="fleet_sim_lab")
        self._client.on_message = lambda client, data, message: self._take_in(message)
        end = time.monotonic() + LIMIT
        while True:
            try:
                self._client.connect(LOOPBACK, self.port)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        topics = [f"{prefix}/{topic}" for prefix in self._prefixes for topic in ("order", "instantActions")]
        self._own_subscriptions, self._subscriptions = len(topics) + 2, 0
        self._client.subscribe([(topic, 0) for topic in [*topics, SUBSCRIPTIONS]] + [(self._settings.reports, 1)])
        self._client.loop_start()

    def _take_in(self, message: mqtt.MQTTMessage) -> None:
        # In the thread of the client.
        if message.topic == SUBSCRIPTIONS:
            with contextlib.suppress(ValueError):
                self._subscriptions = int(message.payload)
            return
        self._came.append((message.topic, bytes(message.payload), message.retain))

    def _stop_broker(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
        if isinstance(self._broker, subprocess.Popen):
            self._broker.terminate()
            self._broker.wait()
            GROUPS.discard(self._broker.pid)
        elif self._broker is not None:
            self._broker.close()
        self._broker = None
