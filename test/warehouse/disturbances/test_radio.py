"""The radio of robots: when what was sent comes, held against distributions and orders that are counted here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from master_control import header, line
from scipy import stats
from vehicle_bench import VehicleBench, scenario

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.errors import ConfigError
from fleet_sim.warehouse.disturbances.radio import radio_of
from fleet_sim.warehouse.vda5050.order import VehicleMessage
from fleet_sim.world.commands import Command, ExecuteAction, SetVelocity, Stop
from fleet_sim.world.inbox import record_commands, replay_commands

DT = 0.01
FREE = {"type": "omni", "max_linear_vel": 1e6}


def fleet(*disturbances: dict[str, Any], robots: int = 3, seed: int = 1, dt: float = DT) -> MultiRobotSimulationCore:
    """Robots r0, r1, ... far from each other."""
    return MultiRobotSimulationCore.from_dict(
        {
            "simulation": {"timestep": dt, "monitor": False, "gui": False, "seed": seed, "target_rtf": 0},
            "robots": [{"name": f"r{i}", "pose": [0.0, 5.0 * i, 0.0], "controller": FREE} for i in range(robots)],
            "disturbances": [{"kind": "radio", **entry} for entry in disturbances],
        }
    )


def velocity(*names: str, number: int = 1) -> Command:
    """A velocity that says which message it was; `number` is exact as m/s."""
    count = len(names)
    command = SetVelocity(names=names, linear=[[number, 0, 0]] * count, angular=[[0, 0, 0]] * count, timeout=0.0)
    return command.from_outside()


def note_arrivals(sim: MultiRobotSimulationCore) -> list[tuple[int, str, int]]:
    """Return a list that gets (tick, robot, number) of each velocity as it is carried out."""
    came: list[tuple[int, str, int]] = []

    def note(command: Command) -> None:
        if isinstance(command, SetVelocity):
            numbers = np.asarray(command.linear)[:, 0].astype(int).tolist()
            came.extend((sim.clock.tick, name, number) for name, number in zip(command.names, numbers, strict=True))

    sim.events.on("fleet_command", note)
    return came


def send_all(sim: MultiRobotSimulationCore, count: int, every: int, names: Sequence[str]) -> list[tuple[int, str, int]]:
    """Send `count` velocities to each robot, one each `every` steps; return the arrivals."""
    came = note_arrivals(sim)
    for number in range(count):
        sim.inbox.put(velocity(*names, number=number))
        for _ in range(every):
            sim.step_once()
    for _ in range(500):
        sim.step_once()
    return came


def test_a_constant_latency_is_that_many_steps_and_disturbs_nobody_else() -> None:
    late, plain = fleet({"robots": ["r1"], "latency": 0.05}), fleet()
    came = note_arrivals(late)
    for sim in (late, plain):
        for tick in range(60):
            if tick == 10:
                sim.inbox.put(velocity("r0", "r1", "r2"))
            if tick == 40:
                sim.inbox.put(Stop(names=()).from_outside())
            sim.step_once()
    assert came == [(10, "r0", 1), (10, "r2", 1), (15, "r1", 1)]
    for row in (0, 2):
        assert late.world.position[row].tobytes() == plain.world.position[row].tobytes()
    # It begins and ends five steps later.
    assert late.world.position[1, 0] == plain.world.position[1, 0] != 0.0


def test_latencies_have_the_distribution_that_is_asked_for() -> None:
    names = [f"r{i}" for i in range(20)]
    for given, wanted in (
        ({"latency": {"uniform": [0.1, 0.4]}}, stats.uniform(0.1, 0.3)),
        ({"latency": {"exponential": 0.05}}, stats.expon(0.0, 0.05)),
        ({"latency": 0.1, "jitter": 0.2}, stats.uniform(0.1, 0.2)),
    ):
        sim = fleet({"direction": "to_robot", **given}, robots=20)
        came = send_all(sim, 25, 60, names)
        assert len(came) == 500
        late = np.array([tick - 60 * number for tick, _, number in came]) * DT
        # Whole steps, rounded up: half a step earlier in the mean.
        shares = np.sort(wanted.cdf(late) * 0.5 + wanted.cdf(late - DT) * 0.5)
        distance = np.abs(shares - (np.arange(500) + 0.5) / 500).max()
        assert distance < 1.95 / np.sqrt(500) + 0.5 * DT / 0.05 * 0.2, given


def test_shares_of_lost_doubled_and_overtaken_messages_are_within_binomial_bounds() -> None:
    names, count = [f"r{i}" for i in range(20)], 50
    for key, share in (("loss", 0.2), ("duplicates", 0.1), ("reordering", 0.15)):
        sim = fleet({"direction": "to_robot", key: share}, robots=20)
        came = send_all(sim, count, 2, names)
        found = {name: [number for _, own, number in came if own == name] for name in names}
        total = count * len(names)
        if key == "loss":
            hits = total - len(came)
            assert all(numbers == sorted(numbers) for numbers in found.values())
        elif key == "duplicates":
            hits = len(came) - total
            assert all(numbers == sorted(numbers) and set(numbers) == set(range(count)) for numbers in found.values())
        else:
            assert all(sorted(numbers) == list(range(count)) for numbers in found.values())
            # A message that comes after one with a higher number was overtaken.
            hits = 0
            for numbers in found.values():
                hits += int((np.array(numbers) < np.maximum.accumulate(numbers)).sum())
        assert abs(hits - share * total) < 4.0 * np.sqrt(total * share * (1.0 - share)), (key, hits)


def test_a_message_never_passes_an_earlier_one_where_the_order_is_kept() -> None:
    sim = fleet({"direction": "to_robot", "latency": {"uniform": [0.0, 0.5]}})
    came = send_all(sim, 100, 2, ["r0", "r1", "r2"])
    for name in ("r0", "r1", "r2"):
        assert [number for _, own, number in came if own == name] == list(range(100))
    assert len({tick - 2 * number for tick, _, number in came}) > 10


EVERYTHING = {"latency": {"uniform": [0.0, 0.2]}, "jitter": 0.1, "loss": 0.2, "duplicates": 0.2, "reordering": 0.2}


def test_a_seed_gives_one_run_and_what_is_sent_to_others_changes_nothing() -> None:
    first = send_all(fleet(EVERYTHING), 40, 3, ["r0", "r1"])
    assert first == send_all(fleet(EVERYTHING), 40, 3, ["r0", "r1"])
    assert first != send_all(fleet(EVERYTHING, seed=2), 40, 3, ["r0", "r1"])
    of_one = [item for item in send_all(fleet(EVERYTHING, robots=5), 40, 3, ["r4", "r0"]) if item[1] == "r0"]
    assert of_one == [item for item in first if item[1] == "r0"]


def test_a_replayed_log_and_a_restored_state_bring_the_same_messages() -> None:
    sim = fleet(EVERYTHING)
    log = record_commands(sim)
    came = note_arrivals(sim)
    saved, before = None, 0
    for number in range(40):
        sim.inbox.put(velocity("r0", "r1", number=number))
        sim.step_once()
        if number == 20:
            saved, before = sim.save_state(), len(came)
    hashes = []
    log.stop()
    end = sim.clock.tick
    for _ in range(50):
        sim.step_once()
    hashes.append(sim.state_hash())
    again = fleet(EVERYTHING)
    replay_commands(again, log)
    while again.clock.tick < end + 50:
        again.step_once()
    hashes.append(again.state_hash())
    assert saved is not None
    first = came[before:]
    came.clear()
    sim.restore_state(saved)
    for number in range(21, 40):
        sim.inbox.put(velocity("r0", "r1", number=number))
        sim.step_once()
    for _ in range(50):
        sim.step_once()
    hashes.append(sim.state_hash())
    assert len(set(hashes)) == 1
    assert came == first and {number for _, _, number in first} & set(range(20)), "some were under way"


def test_a_state_file_has_what_is_under_way(tmp_path: Path) -> None:
    sim = fleet(EVERYTHING)
    for number in range(30):
        sim.inbox.put(velocity("r0", "r1", number=number))
        sim.step_once()
    sim.save_state(tmp_path / "radio.state")
    found = []
    for one in (sim, MultiRobotSimulationCore.from_state(tmp_path / "radio.state")):
        came = note_arrivals(one)
        for number in range(30, 40):
            one.inbox.put(velocity("r0", "r1", number=number))
            one.step_once()
        for _ in range(150):
            one.step_once()
        found.append((came, one.state_hash()))
    assert found[0] == found[1] and found[0][0][0][2] < 30


def test_an_outage_loses_what_is_sent_once_and_holds_what_is_resent() -> None:
    sim = fleet({"robots": ["r0"], "at": 0.1, "lasts": 0.5, "outage": True})
    came, sent = note_arrivals(sim), list[int]()
    for tick in range(100):
        if tick == 30:
            lost = sim.inbox.put(velocity("r0", number=7))
            held = sim.inbox.put(
                ExecuteAction(names=("r0",), actions=({"type": "wait", "duration": 0.1},)).from_outside()
            )
            sim.step_once()
            radio_of(sim).send(0, "told", lambda: sent.append(sim.clock.tick))
            radio_of(sim).send(0, "told", lambda: sent.append(sim.clock.tick), resent=True)
            continue
        sim.step_once()
        if tick < 60:
            assert tick < 30 or not held.done()
    assert came == [] and lost.done()
    assert held.done() and held.result().accepted_names == ("r0",)
    assert sent == [60]


def test_whoever_comes_into_an_area_is_disturbed_until_he_leaves_it() -> None:
    area = [[1.0, -1.0], [2.0, -1.0], [2.0, 1.0], [1.0, 1.0]]
    sim = fleet({"area": area, "latency": 0.05, "at": 0.0})
    came, sent = note_arrivals(sim), {}
    sim.inbox.put(velocity("r0", number=1))
    for tick in range(300):
        if tick and tick % 20 == 0:
            x = float(sim.world.position[0, 0])
            sim.inbox.put(velocity("r0", number=1))
            sent[tick] = 1.0 < x < 2.0
        sim.step_once()
    ticks = [tick for tick, _, _ in came][1:]
    assert ticks == [tick + 5 * inside for tick, inside in sent.items()]
    assert 3 < sum(sent.values()) < len(sent) - 3


def test_orders_of_a_master_control_come_late_too() -> None:
    bench = VehicleBench(scenario(disturbances=[{"kind": "radio", "latency": 0.5, "direction": "to_robot"}]))
    text = json.dumps(header("2.1", "fleet_sim", "a") | line("o", [(0.0, 0.0), (1.0, 0.0)]))
    future = bench.sim.inbox.put(VehicleMessage(name="a", topic="order", text=text).from_outside())
    for _ in range(5):
        bench.sim.step_once()
        assert bench.vehicle.state.order_id == ""
    bench.sim.step_once()
    assert bench.vehicle.state.order_id == "o" and future.result().ok


def test_bad_values_are_errors_before_the_run() -> None:
    for entry, where in (({"loss": 1.5}, "loss"), ({"latency": -1}, "latency"), ({"directon": "both"}, "directon")):
        with pytest.raises(ConfigError, match=where):
            fleet(entry)
