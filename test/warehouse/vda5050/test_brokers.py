"""Ways to a broker: one in the process, one with users and TLS, none at all."""

from __future__ import annotations

import contextlib
import gc
import logging
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from master_control import MasterControl, line
from mqtt_broker import MOSQUITTO, TestBroker, free_port
from system_packages import need_commands
from vehicle_bench import VehicleBench, scenario

from fleet_sim.base.errors import ConfigError, StateError
from fleet_sim.warehouse.vda5050 import VehicleSession, connect_vehicles
from fleet_sim.warehouse.vda5050 import connection as mqtt_link
from fleet_sim.warehouse.vda5050.address import PASSWORD, BrokerAddress
from fleet_sim.warehouse.vda5050.broker import OwnBroker

LIMIT = 60.0
# The client library leaves sockets of connections that failed to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Collect what they leave before the next test, which would be told of it."""
    yield
    gc.collect()


@contextlib.contextmanager
def connected(url: str, ca: str | None = None) -> Iterator[tuple[VehicleBench, VehicleSession]]:
    bench = VehicleBench(scenario(robots=2))
    with connect_vehicles(bench.sim, url, ca=ca) as session:
        yield bench, session
    bench.sim.close()


def test_addresses_are_read_and_passwords_are_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    address = BrokerAddress.parse("mqtts://me:p%40ss@host:9999")
    assert (address.host, address.port, address.tls, address.user, address.password) == (
        "host",
        9999,
        True,
        "me",
        "p@ss",
    )
    assert str(address) == "mqtts://host:9999"
    monkeypatch.setenv(PASSWORD, "hidden")
    assert BrokerAddress.parse("mqtt://me@host").password == "hidden"
    assert BrokerAddress.parse("mqtt://host").password is None
    for wrong in (
        "host:1883",
        "http://host",
        "mqtt://",
        "mqtt://host:99999",
        "mqtt://host/topic",
        "mqtt://:secret@host",
    ):
        with pytest.raises(ConfigError) as caught:
            BrokerAddress.parse(wrong)
        assert "secret" not in str(caught.value)
    secure = "mqtts://host"
    for url, ca in (("mqtt://host", str(tmp_path)), (secure, str(tmp_path / "none.pem")), (secure, "x" * 5000)):
        with pytest.raises(ConfigError, match="--vda5050-ca"):
            BrokerAddress.parse(url, ca)


def test_a_broker_in_the_process_serves_a_fleet_and_a_master_control() -> None:
    port = free_port()
    broker = OwnBroker(port)
    try:
        with pytest.raises(StateError, match=str(port)):
            OwnBroker(port)
        with connected(f"mqtt://127.0.0.1:{port}") as (bench, session), MasterControl(port) as master:
            assert session.link.wait_online(2, LIMIT)
            master.order("a", line("o", [(0.0, 0.0), (1.0, 0.0)]))
            while bench.state()["orderId"] != "o":
                bench.sim.step_once()
            bench.arrive("n1")
            master.state("a", lambda state: state["lastNodeId"] == "n1")
    finally:
        broker.close()


def test_a_broker_in_the_process_closes_the_connections_of_all_clients(caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    broker = OwnBroker(port)
    # Of some it has heard nothing yet: those stayed open after it, and their readers ended with a traceback.
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
    broker.close()
    for client in clients:
        with client, contextlib.suppress(ConnectionResetError):
            client.settimeout(LIMIT)
            assert client.recv(1) == b""
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_fleet_waits_for_a_broker_that_is_not_there_yet() -> None:
    with connected(f"mqtt://127.0.0.1:{free_port()}") as (bench, session):
        while not session.figures()["not_sent"]:
            bench.sim.step_once()
        assert session.figures()["online"] == 0
        with pytest.raises(StateError, match="connected"):
            connect_vehicles(bench.sim, "mqtt://127.0.0.1")


@contextlib.contextmanager
def restless(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[VehicleBench, MasterControl]]:
    """Give vehicles that repeat their states each half second, after one step, and who is told."""
    monkeypatch.setattr(mqtt_link, "LONGEST_SILENCE", 0.5)
    broker = TestBroker()
    try:
        with connected(f"mqtt://127.0.0.1:{broker.port}") as (bench, session), MasterControl(broker.port) as master:
            assert session.link.wait_online(2, LIMIT)
            bench.sim.step_once()
            yield bench, master
    finally:
        broker.stop()


def test_states_are_repeated_without_a_step_and_vehicles_that_go_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with restless(monkeypatch) as (bench, master):
        first = master.state("a", lambda state: True)
        # As while the simulation is paused: the same state with a number and a time of its own.
        again = master.state("a", lambda state: state["headerId"] >= first["headerId"] + 2)
        assert again["timestamp"] > first["timestamp"]
        assert again["agvPosition"] == first["agvPosition"]
        bench.sim.population.remove(bench.desk.vehicle("b").agent)
        bench.sim.step_once()
        master.wait("b", "connection", lambda message: message["connectionState"] == "OFFLINE")
        assert master.last("a", "connection")["connectionState"] == "ONLINE"


def test_states_are_repeated_whatever_becomes_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    # It is set back again and again: by it no time passes.
    clock = SimpleNamespace(**{**vars(time), "time": lambda: 1e9})
    monkeypatch.setattr(mqtt_link, "time", clock)
    with restless(monkeypatch) as (_, master):
        first = master.state("a", lambda state: True)
        again = master.state("a", lambda state: state["headerId"] >= first["headerId"] + 2)
        assert again["timestamp"] == "2001-09-09T01:46:40.000Z"


def test_users_and_certificates_are_asked_for(tmp_path: Path) -> None:
    # It may be in a folder for programs of the system, where users do not look.
    need_commands(*["mosquitto"] * (MOSQUITTO is None), "openssl")
    key, certificate, users = tmp_path / "key.pem", tmp_path / "ca.pem", tmp_path / "users"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    passwd = shutil.which("mosquitto_passwd", path="/usr/bin:/usr/local/bin")
    assert passwd is not None
    subprocess.run([passwd, "-b", "-c", str(users), "me", "secret"], check=True, capture_output=True)
    # The broker gives up root, and reads these afterwards.
    tmp_path.chmod(0o755)
    for parent in (*tmp_path.parents[:2], key, users):
        parent.chmod(0o755)
    lines = ["listener {port}", f"password_file {users}", f"certfile {certificate}", f"keyfile {key}"]
    broker = TestBroker("\n".join([*lines, "allow_anonymous false", "user root"]), tmp_path)
    try:
        with connected(f"mqtts://me:secret@localhost:{broker.port}", str(certificate)) as (_, session):
            assert session.link.wait_online(2, LIMIT)
        for url, ca in (
            (f"mqtts://me:wrong@localhost:{broker.port}", str(certificate)),
            (f"mqtts://me:secret@localhost:{broker.port}", None),
        ):
            with connected(url, ca) as (_, session):
                assert not session.link.wait_online(1, 1.0)
    finally:
        broker.stop()


CONNACK = b"\x20\x02\x00\x00"
BROKEN = (
    b"\x30\x05\x00\x03\xff/o",  # a topic that is not a text
    b"\x30\x05\x00\x03a/o",  # one that nobody has subscribed to
    b"\x30\x04\x00\xffab",  # one that is longer than the message
    b"\x50\x01\x00\x62\x01\x00\x90\x01\x00",  # parts of answers
    b"\x30\xff\xff\xff\xff\xff\x01",  # a length of five bytes
    b"\xff" * 100,
)


class BadBroker:
    """Takes connections and sends each the next of BROKEN."""

    def __init__(self) -> None:
        self.taken = 0
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                one = self._listener.accept()[0]
                self._open.append(one)
                # A vehicle may be gone before it is answered: that is no connection error where the end is shut down.
                with contextlib.suppress(OSError):
                    one.recv(1000)
                    self._answer(one)
                self.taken += 1

    def _answer(self, one: socket.socket) -> None:
        one.sendall(CONNACK + BROKEN[self.taken % len(BROKEN)])
        # After what it was sent the vehicle finds the end, and comes back.
        one.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Listen no longer."""
        for one in (self._listener, *self._open):
            one.close()


class ResettingBroker(BadBroker):
    """Lets each vehicle in, and resets its connection while the vehicle sends."""

    def _answer(self, one: socket.socket) -> None:
        one.sendall(CONNACK)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()


def test_a_broker_that_resets_connections_does_not_end_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqtt_link, "FIRST_RETRY", 0.001)
    monkeypatch.setattr(mqtt_link, "LAST_RETRY", 0.001)
    broker = ResettingBroker()
    bench = VehicleBench(scenario(robots=8))
    with connect_vehicles(bench.sim, f"mqtt://127.0.0.1:{broker.port}"):
        end = time.monotonic() + LIMIT
        while broker.taken < 100 and time.monotonic() < end:
            bench.sim.step_once()
        assert broker.taken >= 100, "it looks for the broker no longer"
    bench.sim.close()
    broker.close()


def test_a_broker_that_sends_garbage_does_not_end_the_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqtt_link, "FIRST_RETRY", 0.01)
    monkeypatch.setattr(mqtt_link, "LAST_RETRY", 0.05)
    broker = BadBroker()
    with connected(f"mqtt://127.0.0.1:{broker.port}") as (bench, session):
        end = time.monotonic() + LIMIT
        while broker.taken < 3 * len(BROKEN) and time.monotonic() < end:
            bench.sim.step_once()
            time.sleep(0.01)
        assert broker.taken >= 3 * len(BROKEN), "it looks for the broker no longer"
        assert session.figures()["not_let_in"]["of another topic"] > 1
    broker.close()


def test_a_broker_that_takes_a_connection_and_says_nothing_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mqtt_link, "CONNECT_TIMEOUT", 6.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        with connected(f"mqtts://127.0.0.1:{server.getsockname()[1]}"):
            taken, _ = server.accept()
        # TLS still waits for its first answer.
        (thread,) = (one for one in threading.enumerate() if one.name == "vda5050")
        taken.close()
        thread.join(LIMIT)
        assert not thread.is_alive()
