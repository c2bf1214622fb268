"""The target of a node in a process of its own: each field of all that it reads over ROS 2 at its worst.

A message has one field so. Up to fifty to different topics or services are an input, or one world. After it `/clock`
goes on, memory is bounded, and no canary was touched or told of; otherwise the node is started anew.
`fuzz_live.py FOLDER NOTES ARGUMENT...` is that process, which notes what it opens of canaries.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

from fuzz_files import SEEDS
from fuzz_schema import NUMBERS, TEXTS, Canaries, Generator, expanded, watch_files
from fuzz_target import Target

START = 600.0
"""For a node to begin, in s: on a machine that is very busy it takes minutes."""
STILL = 15.0
"""The longest that `/clock` may stand still, in s of the node's processor time; ten times that where it has little."""
MOST_MEMORY = 1 << 30
"""What a node may take beyond what it has at the beginning, in bytes."""
AT_ONCE = 50
"""Messages to topics, or to services, after which the clock is looked at."""
SCENARIOS = {"resource_string": "", "options": "robots"}
"""Fields with a whole scenario, or with an entry of a section."""
LONGEST_LIST = 3000


def places_of(kind: Any, depth: int = 0) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the fields of a message type that are no messages themselves, and their types."""
    from rosidl_runtime_py.utilities import get_message

    empty = kind()
    for name, declared in kind.get_fields_and_field_types().items():
        value, inner = getattr(empty, name), declared.removeprefix("sequence<").split(">")[0].split(",")[0]
        part: Any = type(value) if hasattr(value, "get_fields_and_field_types") else None
        if declared.startswith("sequence<") and "/" in inner:
            part = get_message(inner if inner.count("/") == 2 else inner.replace("/", "/msg/"))
        if part is None or declared.startswith("sequence<"):
            yield (name,), declared
        if part is not None and depth < 4:
            for path, found in places_of(part, depth + 1):
                yield (name, *path), found


def put(message: Any, path: list[str], value: Any) -> None:
    """Set a field of a message; lists on the way get one entry. A value of a wrong type is left out."""
    from rosidl_runtime_py.utilities import get_message

    declared = message.get_fields_and_field_types()[path[0]]
    inner = declared.removeprefix("sequence<").split(">")[0].split(",")[0]
    is_list = declared.startswith("sequence")
    part = None
    if "/" in inner and is_list:
        part = get_message(inner if inner.count("/") == 2 else inner.replace("/", "/msg/"))
    if len(path) == 1:
        before = getattr(message, path[0])
        if is_list:
            length = value if isinstance(value, int) else 1
            one = part() if part else {"string": "x", "boolean": True, "double": 1e300, "float": 1.0}.get(inner, 1)
            setattr(message, path[0], [one] * max(0, min(length, LONGEST_LIST)))
        elif hasattr(before, "__len__") and not isinstance(before, str):
            raise ValueError("an array is as long as it is")
        elif isinstance(before, str):
            setattr(message, path[0], str(value))
        else:
            setattr(message, path[0], type(before)(value))
        return
    if part is not None:
        entry = part()
        put(entry, path[1:], value)
        setattr(message, path[0], [entry])
    elif not is_list:
        put(getattr(message, path[0]), path[1:], value)


def service_of(kind: str) -> Any:
    """Return the class of a service, also of the one that takes the goals of an action."""
    from rosidl_runtime_py.utilities import get_action, get_service

    if "/action/" not in kind:
        return get_service(kind)
    action, _, part = kind.rpartition("_")
    return getattr(get_action(action).Impl, f"{part}Service")


class Watched:
    """A node in a process of its own, and one client of it."""

    def __init__(self, canaries: Canaries) -> None:
        import rclpy
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import qos_profile_sensor_data
        from rosgraph_msgs.msg import Clock

        self._canaries = canaries
        self._notes = canaries.folder.with_suffix(".notes")
        self._config = canaries.folder.with_suffix(".yaml")
        text = (SEEDS / "node.yaml").read_text(encoding="utf-8").replace("target_rtf: 0.0", "target_rtf: 5.0")
        self._config.write_text(text, encoding="utf-8")
        self._clock = -1.0
        self._context = Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node("asker", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.node.create_subscription(Clock, "/clock", self._tick, qos_profile_sensor_data)
        self._clients: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def _tick(self, message: Any) -> None:
        self._clock = message.clock.sec + 1e-9 * message.clock.nanosec

    def start(self) -> None:
        """Begin with a new node."""
        self.end()
        self._notes.write_text("", encoding="utf-8")
        arguments = [str(self._canaries.folder), str(self._notes), "--ros-args", "-p", f"config:={self._config}"]
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        with self._canaries.folder.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, __file__, *arguments],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        if not self._goes_on(START):
            raise RuntimeError("the node did not begin")
        self._memory = self._resident()
        self._canaries.check_unchanged()

    def end(self) -> None:
        """End the node."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process = None

    def close(self) -> None:
        """End the node and the client."""
        self.end()
        self.node.destroy_node()
        self._context.try_shutdown()
        for suffix in (".notes", ".yaml", ".log"):
            self._canaries.folder.with_suffix(suffix).unlink(missing_ok=True)

    def _resident(self) -> int:
        assert self._process is not None
        statm = Path(f"/proc/{self._process.pid}/statm")
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0

    def _used(self) -> float:
        assert self._process is not None
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _goes_on(self, patience: float, processor: float = math.inf) -> bool:
        """Return whether `/clock` goes on within `patience` s, of which the node has `processor` for itself."""
        before, end, used = self._clock, time.monotonic() + patience, self._used()
        while time.monotonic() < end and self._used() < used + processor:
            self._executor.spin_once(0.02)
            if self._clock != before:
                return True
        return False

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """Return the answer that a service will give. Raises LookupError where it is gone."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        if not self._clients[name].wait_for_service(3.0):
            raise LookupError(f"there is no {name}")
        return self._clients[name].call_async(request)

    def answers(self, calls: list[Any], patience: float = STILL) -> list[str | None]:
        """Return what services answer as text; None: nothing in time."""
        end = time.monotonic() + patience
        while not all(call.done() for call in calls) and time.monotonic() < end:
            self._executor.spin_once(0.01)
        return [str(call.result()) if call.done() else None for call in calls]

    def ask(self, kind: Any, name: str, request: Any, patience: float = STILL) -> None:
        """Wait for the answer of a service."""
        self.answers([self.call(kind, name, request)], patience)

    def reload(self) -> None:
        """Load the world that it began with."""
        from simulation_interfaces.srv import LoadWorld

        request = LoadWorld.Request()
        request.resource_string = self._config.read_text(encoding="utf-8")
        self.ask(LoadWorld, "/sim/load_world", request)

    def check(self, told: str) -> None:
        """Raise AssertionError where a promise is broken; then the node is another one."""
        try:
            self._check(told)
        except AssertionError:
            self.start()
            raise

    def _check(self, told: str) -> None:
        assert self._process is not None
        assert self._process.poll() is None, f"the node has ended with {self._process.poll()}"
        # Who may pause it and slow it down has done nothing wrong.
        if not self._goes_on(1.0):
            with suppress(LookupError):
                self._set_going()
            assert self._goes_on(10.0 * STILL, STILL), f"/clock stands still for {STILL} s"
        more = self._resident() - self._memory
        assert more < MOST_MEMORY, f"it takes {more >> 20} MB more"
        log = self._canaries.folder.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
        orders = next((line for line in log.splitlines() if "\x1b" in line or "\x9b" in line), "")
        assert not orders, f"the log gives orders to the terminal: {orders[:200]!r}"
        notes = self._notes.read_text(encoding="utf-8")
        self._notes.write_text("", encoding="utf-8")
        self._canaries.check_unchanged()
        self._canaries.check([notes.splitlines()[0]] if notes else [], told)

    def _set_going(self) -> None:
        from rcl_interfaces.msg import Parameter, ParameterValue
        from rcl_interfaces.srv import SetParameters
        from std_srvs.srv import Trigger

        value = Parameter(name="target_rtf", value=ParameterValue(type=3, double_value=5.0))
        self.ask(SetParameters, "/fleet_sim/set_parameters", SetParameters.Request(parameters=[value]), 2.0)
        self.ask(Trigger, "/sim/resume", Trigger.Request(), 2.0)


def live_target() -> Target:
    """Return the target: an input is a list of messages, each a field of what the node reads, and its value."""
    from ros_domain import use_own_domain

    use_own_domain()
    from rosidl_runtime_py.utilities import get_message

    canaries, generator = Canaries(), Generator()
    watched = Watched(canaries)
    end = time.monotonic() + 20.0
    while time.monotonic() < end and not watched.node.count_subscribers("/helper/cmd_vel"):
        watched._executor.spin_once(0.1)
    services = {name: kinds[0] for name, kinds in watched.node.get_service_names_and_types()}
    topics = {
        name: kinds[0]
        for name, kinds in watched.node.get_topic_names_and_types()
        if watched.node.count_subscribers(name) and name not in ("/clock", "/parameter_events", "/rosout")
    }
    places: list[tuple[str, str, str, list[str], str]] = []
    for name, kind in services.items():
        if "/asker/" not in name and not name.endswith(("get_result", "cancel_goal")):
            places += [("service", name, kind, list(path), own) for path, own in places_of(service_of(kind).Request)]
    for name, kind in topics.items():
        places += [("topic", name, kind, list(path), own) for path, own in places_of(get_message(kind))]
    by_name: dict[str, list[Any]] = {}
    for place in places:
        by_name.setdefault(place[1], []).append(place)
    publishers: dict[str, Any] = {}
    count = [0]

    def sent(tree: dict[str, Any]) -> Any:
        """Send one message; return the answer that will come, None for a message to a topic."""
        way, name, path = tree["way"], tree["name"], tree["field"]
        kind = {"service": services, "topic": topics}[way][name]
        value = expanded(tree["value"], str(canaries.folder))
        if isinstance(value, (dict, list)):
            value = json.dumps(value)
        message = service_of(kind).Request() if way == "service" else get_message(kind)()
        for field, other in (*tree.get("also", {}).items(), (None, None)):
            put(message, [field] if field else path, other if field else value)
        if way == "service":
            if "/action/" in kind:
                # Of goals with one name the server takes the first.
                message.goal_id.uuid = list(os.urandom(16))
            return watched.call(service_of(kind), name, message)
        if name not in publishers:
            publishers[name] = watched.node.create_publisher(get_message(kind), name, 10)
        publishers[name].publish(message)
        return None

    def feed(data: bytes) -> str | None:
        try:
            given = json.loads(data)
        except (ValueError, RecursionError):
            raise FileNotFoundError("no input") from None
        calls, none = [], 0
        given = given if isinstance(given, list) else [given]
        for tree in given:
            try:
                call = sent(tree)
            except (ValueError, LookupError, TypeError, AttributeError, OverflowError, AssertionError, RecursionError):
                # A field does not take that value, or another world was loaded, without that robot.
                none += 1
            else:
                calls += [] if call is None else [call]
                count[0] += 1
        told = watched.answers(calls)
        watched.check(" ".join(filter(None, told)))
        if any(tree["field"][-1] in SCENARIOS for tree in given):
            watched.reload()
        if none == len(given):
            raise FileNotFoundError("no message")
        return "no answer" if None in told else None

    def message(random: Random, chosen: list[Any]) -> dict[str, Any]:
        way, name, _, path, declared = random.choice(chosen)
        tree: dict[str, Any] = {"way": way, "name": name, "field": path}
        if path[-1] in SCENARIOS:
            section = SCENARIOS[path[-1]]
            made = generator.scenario(random, section)
            tree["value"] = made if not section else (made[section] or [{}])[0]
            if name.endswith("/sim/spawn"):
                tree["also"] = {"name": f"r{random.randrange(1000)}"}
        elif name == "/sim/disturb" and path[-1] != "kind":
            # Again and again, as what is under way adds up.
            tree["value"] = 0
            tree["field"] = ["operation"]
            tree["also"] = {"kind": random.choice(("radio", "localization", "slow"))}
        elif "string" in declared:
            tree["value"] = generator.pattern(random) if random.random() < 0.2 else random.choice(TEXTS)
        else:
            tree["value"] = random.choice(NUMBERS if "sequence" not in declared else (0, 1, 100, LONGEST_LIST))
        return tree

    def mutate(data: bytes, random: Random) -> bytes:
        if random.random() < 0.1:
            # Worlds and entries are where most is asked for: each alone.
            made: Any = message(random, [place for place in places if place[3][-1] in SCENARIOS] or places)
        else:
            # Each to another one: of a topic the node reads the last message.
            known = list(services if random.random() < 0.3 else topics)
            chosen = [by_name[name] for name in random.sample(known, min(AT_ONCE, len(known))) if name in by_name]
            made = [message(random, one) for one in chosen]
            made = [tree for tree in made if tree["field"][-1] not in SCENARIOS]
        text = json.dumps(made).encode()
        return text if len(text) < 1 << 16 else data

    weakref.finalize(feed, watched.close)
    seed = json.dumps({"way": "topic", "name": "/cart/cmd_vel", "field": ["linear", "x"], "value": 0.1}).encode()
    limits: dict[str, Any] = {"mutate_share": 1.0, "seconds": 300.0, "memory": 1 << 36}
    return Target(feed, [seed], (), (FileNotFoundError,), mutate, operations=lambda: count[0], **limits)


def main() -> int:
    """Run a node that notes what it opens of the canaries."""
    folder, notes = Path(sys.argv[1]), Path(sys.argv[2])

    def note(line: str) -> None:
        with notes.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def end_with_client() -> None:
        # The input of this process ends with who started it, however that ends.
        sys.stdin.read()
        os._exit(0)

    Thread(target=end_with_client, daemon=True).start()
    watch_files(folder, note)
    from fleet_sim.ros import main as program

    sys.argv[1:] = sys.argv[3:]
    return int(program.main() or 0)


if __name__ == "__main__":
    sys.exit(main())
