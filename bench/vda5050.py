"""Measure a fleet that is driven by VDA 5050: `python bench/vda5050.py [--vehicles 500] [--seconds 20]`.

Each vehicle is a client of mosquitto, which has to be installed, sends states at 1 Hz and visualizations at 10 Hz, and
drives an order back and forth. Measured are the real-time factor, what arrives at a subscriber in another process, and
the processor time of this process for each second of the run.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.warehouse.vda5050 import connect_vehicles
from fleet_sim.warehouse.vda5050.order import VehicleMessage

PORT = 18853
STEP = 0.05
MOSQUITTO = shutil.which("mosquitto", path="/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin")


def scenario(vehicles: int) -> dict[str, object]:
    """A grid of robots, each with room for its way."""
    return {
        "simulation": {"timestep": STEP, "target_rtf": 1.0, "monitor": False, "gui": False},
        "robots": [
            {
                "name": "amr",
                "grid": {"count": vehicles, "columns": 10, "spacing": [12.0, 2.0, 0.0]},
                "pose": [0.0, 0.0, 0.1],
                "shape": {"shape_type": "box", "half_extents": [0.4, 0.3, 0.1]},
                "controller": {
                    "type": "differential",
                    "max_linear_vel": 1.5,
                    "max_linear_accel": 1.0,
                    "max_angular_vel": 2.0,
                },
                "battery": {},
            }
        ],
        "vda5050": {"fleets": [{"state_interval": 1.0, "visualization_rate": 10.0}]},
    }


def order(name: str, prefix: tuple[str, str], x: float, y: float, length: int) -> VehicleMessage:
    """An order of `length` edges, there and back."""
    maker, serial = prefix
    head = {"headerId": 0, "timestamp": "2026-01-01T00:00:00.00Z", "version": "2.1.0"}
    nodes = [
        {
            "nodeId": f"n{index}",
            "sequenceId": 2 * index,
            "released": True,
            "nodePosition": {"x": x + 8.0 * (index % 2), "y": y, "mapId": "map"},
            "actions": [],
        }
        for index in range(length + 1)
    ]
    edges = [
        {
            "edgeId": f"e{index}",
            "sequenceId": 2 * index + 1,
            "released": True,
            "startNodeId": f"n{index}",
            "endNodeId": f"n{index + 1}",
            "actions": [],
        }
        for index in range(length)
    ]
    body = {"manufacturer": maker, "serialNumber": serial, "orderId": "o", "orderUpdateId": 0}
    return VehicleMessage(name=name, topic="order", text=json.dumps(head | body | {"nodes": nodes, "edges": edges}))


def subscribe() -> None:
    """In a process of its own: count messages by topic until the input ends, then print the numbers."""
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    counts: Counter[str] = Counter()
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.on_message = lambda client, data, message: counts.update((message.topic.rpartition("/")[2],))
    client.on_connect = lambda client, *_: client.subscribe("#")
    client.connect("127.0.0.1", PORT)
    client.loop_start()
    for line in sys.stdin:
        if line.strip() == "reset":
            counts.clear()
    print(json.dumps(counts))


def measure(vehicles: int, seconds: float) -> dict[str, float]:
    """Run, and return the figures."""
    assert MOSQUITTO is not None, "mosquitto is not installed: apt install mosquitto"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    broker = subprocess.Popen([MOSQUITTO, "-p", str(PORT)], stdin=subprocess.DEVNULL, **quiet)
    time.sleep(0.5)
    listener = subprocess.Popen(
        [sys.executable, __file__, "--subscriber"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    sim = MultiRobotSimulationCore.from_dict(scenario(vehicles))
    session = connect_vehicles(sim, f"mqtt://127.0.0.1:{PORT}")
    begin = time.perf_counter()
    assert session.link.wait_online(vehicles, 60.0), "not all vehicles came online"
    online = time.perf_counter() - begin
    for vehicle in sim.get_manager("vda5050").vehicles:
        x, y = vehicle.place
        identity = vehicle.identity
        sim.inbox.put(order(identity.name, (identity.manufacturer, identity.serial), x, y, 20))
    sim.run_simulation(duration=2.0)
    assert listener.stdin is not None and listener.stdout is not None
    listener.stdin.write("reset\n")
    listener.stdin.flush()
    own = resource.getrusage(resource.RUSAGE_SELF)
    report = sim.run_simulation(duration=seconds)
    used = resource.getrusage(resource.RUSAGE_SELF)
    lost = sum(session.link.lost.values())
    listener.stdin.close()
    counts = json.loads(listener.stdout.read())
    listener.wait()
    sim.close()
    broker.terminate()
    broker.wait()
    return {
        "online after s": online,
        "real-time factor": seconds / report.wall_time,
        "late steps": float(report.late_steps),
        "states /s": counts.get("state", 0) / seconds,
        "visualizations /s": counts.get("visualization", 0) / seconds,
        "lost": float(lost),
        "processor s per s": (used.ru_utime + used.ru_stime - own.ru_utime - own.ru_stime) / seconds,
    }


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vehicles", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--subscriber", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.subscriber:
        subscribe()
        return
    print(f"{args.vehicles} vehicles, steps of {STEP:g} s, state at 1 Hz, visualization at 10 Hz")
    for name, value in measure(args.vehicles, args.seconds).items():
        print(f"{name:>20}  {value:10.2f}")


if __name__ == "__main__":
    main()
