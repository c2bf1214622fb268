"""The crash lab: sound managers pass, faulty ones are found, shrunk and replayed; bad input is one clear verdict."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.lab.managers import class_at
from fleet_sim.apps.lab.night import Night, came_back, replayed, write_files
from fleet_sim.apps.lab.run import Case, Outcome, case_of
from fleet_sim.apps.lab.settings import LabSettings, read_lab
from fleet_sim.apps.lab.shrink import Shrinker, check_parts, read_case, run_case
from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import held

MANAGERS = Path(__file__).parent / "small_manager.py"


def lab_of(name: str = "Manager", **other: Any) -> LabSettings:
    """A lab with two vehicles and two orders."""
    given = {
        "site": {"grid": {"rows": 2, "columns": 4}},
        "vehicles": {"count": 2},
        "orders": {"count": 2, "every": 10.0, "cancelled": 0.0},
        "rules": {"end_within": 120.0, "patience": 20.0, "answer_within": 10.0, "call_within": 0.5},
        "duration": 60.0,
        **other,
    }
    return read_lab({"manager": {"python": f"{MANAGERS}:{name}"}, **given})


def run(name: str = "Manager", events: Any = (), **other: Any) -> Outcome:
    lab = lab_of(name, **other)
    return run_case(lab, case_of(lab, 1, events))


def broken(outcome: Outcome) -> tuple[str, str]:
    assert outcome.failure is not None
    return outcome.failure.oracle, outcome.failure.cause


LOST = {"at": 0.0, "do": "lost", "on": "v0", "way": "to", "count": 1}
KILL = {"at": 20.0, "do": "kill", "on": "manager", "lasts": 3.0, "after": 0}


def test_a_sound_manager_does_its_orders_whatever_is_lost_and_killed() -> None:
    events = [
        LOST,
        KILL,
        {"at": 5.0, "do": "twice", "on": "v0", "way": "to", "count": 3},
        {"at": 12.0, "do": "cut", "on": "v0", "lasts": 6.0, "told": 1.0},
        {"at": 25.0, "do": "broker_restart", "on": "broker", "lasts": 2.0, "keeps": "no"},
        {"at": 30.0, "do": "breakdown", "on": "v0", "lasts": 5.0},
        {"at": 33.0, "do": "garbage", "on": "v0", "way": "from"},
        {"at": 40.0, "do": "late", "on": "v0", "way": "from", "count": 3, "by": 2.0},
    ]
    outcome = run(events=events)
    assert outcome.failure is None
    assert outcome.ended == {"finished": 2}
    assert {note.what for note in outcome.notes} >= {"kill", "disturbed", "report"}


def test_equal_cases_are_equal_runs() -> None:
    first, second = run(events=[LOST, KILL]), run(events=[LOST, KILL])
    assert first.digest == second.digest
    assert first.digest != run(events=[KILL]).digest


@pytest.mark.parametrize(
    ("name", "events", "found"),
    [
        ("NeverAgain", [LOST], ("progress", "nothing moves")),
        ("Forgets", [KILL], ("protocol", "a new order while another is active")),
        ("ThroughOthers", [], ("place", "released while another is there")),
        ("EarlyReport", [], ("report", "finished without delivery")),
        ("Raises", [], ("manager", "RuntimeError: no licence")),
        ("Hangs", [], ("manager", "on_time does not return")),
        ("HangsInCallbacks", [], ("manager", "on_time does not return")),
        ("Waits", [], ("manager", "on_time does not return")),
        ("CatchesAll", [], ("protocol", "wrong topic")),
        ("NestsDeep", [], ("protocol", "no JSON object")),
        ("NumbersForLists", [], ("protocol", "order: headerId is missing or wrong")),
        ("ReportsAhead", [], ("report", "unknown order reported")),
        ("TellsAddress", [], ("manager", "ValueError: <object object at 0x...>")),
        ("Mute", [], ("manager", "says nothing")),
        ("MuteAfterRestart", [{**KILL, "at": 0.1, "lasts": 12.0}], ("manager", "says nothing")),
        ("Floods", [], ("manager", "floods")),
    ],
)
def test_a_fault_is_found_by_its_oracle(name: str, events: Any, found: tuple[str, str]) -> None:
    assert broken(run(name, events)) == found


@pytest.mark.skipif(shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin") is None, reason="needs mosquitto")
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python -c 'raise SystemExit(\"no licence\")'", "ended with code 1"),
        ("sleep 60", "has not subscribed to anything within 1.5 s"),
    ],
)
def test_a_program_that_does_not_start_is_one_verdict(command: str, told: str) -> None:
    outcome = run(manager={"command": command, "start_within": 1.5})
    assert broken(outcome)[0] == "manager"
    assert told in outcome.failure.text  # type: ignore[union-attr]
    assert outcome.seconds == 0.0


def test_a_program_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="no_such_program"):
        check_parts(lab_of(manager={"command": "no_such_program --port {port}"}))


def test_oracles_are_left_out_and_added(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from fleet_sim.apps.lab.protocol import Oracle\n"
        "class NoOrders(Oracle):\n"
        "    name, sentence = 'mine', 'There are no orders.'\n"
        "    def order(self, track):\n"
        "        self.fail('an order', track.id)\n"
    )
    rules = {"without": ["report"], "more": [f"{tmp_path}/mine.py:NoOrders"]}
    assert broken(run("EarlyReport", rules=rules)) == ("mine", "an order")
    with pytest.raises(ConfigError, match=r"rules\.without"):
        run(rules={"without": ["everything"]})


def test_an_oracle_that_fails_itself_is_not_the_manager(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from fleet_sim.apps.lab.protocol import Oracle\n"
        "class Wrong(Oracle):\n"
        "    name, sentence = 'mine', 'No message is sent.'\n"
        "    def sent(self, message):\n"
        "        {}['key']\n"
    )
    assert broken(run(rules={"more": [f"{tmp_path}/mine.py:Wrong"]})) == (
        "mine",
        "the oracle itself fails: KeyError('key')",
    )


def test_a_vehicle_that_charges_longer_than_patience_is_no_standstill() -> None:
    battery = {"capacity_wh": 50, "level": 0.2, "charge_power": 2000}
    outcome = run("ChargesFirst", vehicles={"count": 1, "battery": battery}, orders={"count": 1, "cancelled": 0.0})
    assert outcome.failure is None and outcome.ended == {"finished": 1}
    accepted, ended = outcome.orders["o0"].accepted, outcome.orders["o0"].ended
    assert accepted is not None and ended is not None and ended - accepted > 60.0


def test_a_failure_is_shrunk_written_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = {"do": "twice", "on": "v0", "way": "from"}
    events = [
        LOST,
        *({**twice, "at": 3.0 + at, "on": "v1", "count": 2} for at in range(5)),
        {**twice, "at": 6.0, "count": 3},
    ]
    lab = lab_of("Fragile", orders={"count": 1})
    shrunk = Shrinker(lab, run_case(lab, case_of(lab, 1, events)), most=60).shrink()
    assert shrunk.case.events == [{**twice, "at": 6.0, "count": 1}]
    assert shrunk.case.vehicles == ["v0"] and shrunk.case.orders == []
    assert came_back(lab, shrunk.outcome) == "in each replay, bit for bit"
    write_files(tmp_path / "case", lab, shrunk.outcome, "twice")
    _, case, failure = read_case(tmp_path / "case.yaml")
    assert (case, failure) == (shrunk.case, shrunk.outcome.failure)
    assert main(["lab", "replay", str(tmp_path / "case.yaml")]) == 1
    told = capsys.readouterr().out
    assert told.startswith(f"this case executes {MANAGERS}:Fragile\n")
    assert "a state came twice" in told
    page, text = (tmp_path / "case.html").read_text(), (tmp_path / "case.md").read_text()
    assert "twice v0" in page and "<svg" in page
    assert "- 6.0 s: twice v0" in text and "a state came twice" in text


def test_a_night_groups_what_it_finds_and_goes_on(tmp_path: Path) -> None:
    lab = lab_of(
        "Fragile", disturbances={"most": 2, "twice": {"way": ["from"], "count": [3, 4]}}, vehicles={"count": 1}
    )
    lines: list[str] = []
    night = Night(lab, tmp_path, runs=4, most_shrinking=10, show=lines.append)
    night.run()
    assert night.done == 4
    assert night.figures()["undisturbed run"] == "nothing broke"
    groups = night.groups()
    assert [(group.oracle, group.cause) for group in groups] == [("manager", "ValueError: a state came twice, at #")]
    assert (tmp_path / groups[0].file).exists()
    assert "a state came twice" in (tmp_path / "index.html").read_text()
    again = Night(lab, tmp_path, runs=5, most_shrinking=10, show=lines.append)
    again.resume()
    assert again.done == 4 and again.groups() == groups
    again.run()
    assert again.done == 5


def test_all_that_is_wrong_in_a_lab_file_is_listed() -> None:
    with pytest.raises(ConfigError) as caught:
        read_lab(
            {
                "site": {"grid": {"rows": 1}},
                "vehicles": {"count": 0},
                "manager": {},
                "disturbances": {"lots": {}, "lost": {"count": [4, 1]}, "breakdown": {"level": "worse"}},
                "duration": "long",
                "speed": 1,
            }
        )
    text = str(caught.value)
    for part in ("rows", "count", "python", "disturbances.lots", "lost.count", "breakdown", "duration", "speed"):
        assert part in text, part


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"events": [{"at": 0.0, "do": "lost", "on": "v7", "way": "to", "count": 1}]}, "v7"),
        ({"events": [{"at": 0.0, "do": "lost", "on": "v0", "way": "to"}]}, "count is missing"),
        ({"events": [{"at": 0.0, "do": "nothing", "on": "v0"}]}, "nothing"),
        ({"vehicles": ["v0", "x"]}, "'x'"),
        ({"vehicles": ["v0", "v0"]}, "each once"),
        ({"vehicles": ["x0"]}, "'x0'"),
        ({"seed": [1]}, "seed"),
        ({"orders": [{"id": 1, "at": 0.0, "from": "p0", "to": "p1", "cancel": None}]}, "texts as ids"),
        ({"orders": [{"id": "o0", "at": "soon", "from": "p0", "to": "p1", "cancel": None}]}, "seconds"),
        ({"orders": [{"id": "o0", "at": 0.0, "from": "p0", "to": "nowhere", "cancel": None}]}, "nowhere"),
    ],
)
def test_a_case_that_cannot_be_run_is_refused(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    lab = lab_of()
    case = case_of(lab, 1).plain() | change
    (tmp_path / "case.yaml").write_text(json.dumps({"format": 1, "lab": lab.plain, "case": case}))
    with pytest.raises(ConfigError, match=told):
        read_case(tmp_path / "case.yaml")


def test_a_case_is_plain() -> None:
    case = case_of(lab_of(), 3, [KILL])
    assert Case(**json.loads(json.dumps(case.plain()))) == case


def test_the_last_runs_are_shrunk_too(tmp_path: Path) -> None:
    night = Night(lab_of("Raises"), tmp_path, jobs=2, runs=1, show=str)
    night.run()
    assert [(group.cause, group.events) for group in night.groups()] == [("RuntimeError: no licence", 0)]


def test_a_night_goes_on_after_half_a_line(tmp_path: Path) -> None:
    lab = lab_of("Raises")
    Night(lab, tmp_path, runs=2, most_shrinking=1, show=str).run()
    whole = (tmp_path / "runs.jsonl").read_text()
    (tmp_path / "runs.jsonl").write_text(whole + '{"number": 2, "str')
    again = Night(lab, tmp_path, runs=3, most_shrinking=1, show=str)
    again.resume()
    again.run()
    assert again.done == 3
    assert [json.loads(line)["number"] for line in (tmp_path / "runs.jsonl").read_text().splitlines()[-1:]] == [2]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_what_a_program_has_started_ends_with_it(tmp_path: Path) -> None:
    script = tmp_path / "adapter.py"
    script.write_text(
        "import pathlib, subprocess, sys\n"
        "started = subprocess.Popen(['sleep', '600'])\n"
        f"pathlib.Path({str(tmp_path)!r}, 'pid').write_text(str(started.pid))\n"
        "raise SystemExit('ends before what it started')\n"
    )
    assert broken(run(manager={"command": f"python {script}"}))[0] == "manager"
    try:
        started = os.pidfd_open(int((tmp_path / "pid").read_text()))
    except ProcessLookupError:
        return
    # It was killed, and ends when it gets a processor.
    assert select.select([started], [], [], 30)[0]
    os.close(started)


def test_a_replay_has_the_order_of_sets_of_the_night(tmp_path: Path) -> None:
    (tmp_path / "sets.py").write_text(
        "class Manager:\n"
        "    def __init__(self, *given):\n"
        "        raise ValueError('-'.join({chr(97 + index) for index in range(20)}))\n"
    )
    lab = lab_of(manager={"python": f"{tmp_path}/sets.py:Manager"})
    write_files(tmp_path / "case", lab, run_case(lab, case_of(lab, 1)))
    night = Night(lab, tmp_path, jobs=1, runs=1, show=str)
    night.run()
    failure = replayed(tmp_path / "case.yaml").failure
    assert failure is not None
    assert failure.cause == night.groups()[0].cause


@pytest.mark.parametrize("name", ["counts.py", "counting_package.counts"])
def test_variables_of_modules_survive_neither_kills_nor_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / f"{name.removesuffix('.py').replace('.', '/')}.py"
    file.parent.mkdir(exist_ok=True)
    # Of the module, and of one beside it.
    kept = name.replace("counts", "kept_of_counts").removesuffix(".py")
    (file.parent / "kept_of_counts.py").write_text("STARTED = []\n")
    file.write_text(
        f"from {kept} import STARTED as OTHERS\n"
        "STARTED = []\n"
        "class Manager:\n"
        "    def __init__(self, *given):\n"
        "        STARTED.append(1)\n"
        "        OTHERS.append(1)\n"
        "        assert len(STARTED) == len(OTHERS) == 1\n"
        "    def order(self, order, now):\n"
        "        raise ValueError('an order')\n"
    )
    lab = lab_of(manager={"python": f"{file if name.endswith('.py') else name}:Manager"})
    # As the command does first, which imports it.
    check_parts(lab)
    case = case_of(lab, 1, [{**KILL, "at": 0.0, "lasts": 1.0}])
    for _ in range(2):
        assert broken(run_case(lab, case)) == ("manager", "ValueError: an order")


def test_modules_of_fleet_sim_stay_where_a_manager_lies_above_them(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(fs.__file__).resolve().parents[1]
    for late in (ModuleType("fleet_sim.late_1"), ModuleType("fleet_sim.late_2")):
        late.__file__ = str(folder / "fleet_sim" / "late.py")
        monkeypatch.setitem(sys.modules, late.__name__, late)
        with pytest.raises(ConfigError, match="no file"):
            class_at(f"{folder}/nowhere.py:Manager", "manager.python", anew=True)
        assert sys.modules[late.__name__] is late


def test_a_port_that_is_reserved_is_taken() -> None:
    from fleet_sim.apps.lab.process import reserved_port

    with reserved_port() as reserved, socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(reserved.getsockname())


def test_a_folder_has_one_lab_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[3] / "examples" / "lab.yaml"
    (tmp_path / "runs.jsonl").write_text("")
    with held(tmp_path / "lock"):
        assert main(["lab", str(example), "--out", str(tmp_path)]) == 1
    assert "another process has" in capsys.readouterr().err
    assert (tmp_path / "runs.jsonl").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    example = Path(__file__).parents[3] / "examples" / "lab.yaml"
    assert main(["lab", str(example), "--out", str(tmp_path / "file" / "out")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_page_tells_of_a_message_without_end(tmp_path: Path) -> None:
    write_files(tmp_path / "case", lab_of("NestsDeep"), run("NestsDeep"))
    assert "order: no message" in (tmp_path / "case.md").read_text()


def test_batteries_are_read_in_all_versions() -> None:
    for version in (2.0, 3.0):
        vehicles = {"count": 1, "version": version, "battery": {"capacity_wh": 0.01, "idle_power": 40}}
        rules = {"answer_within": 10.0, "end_within": 20.0, "without": ["manager"]}
        assert broken(run("Mute", vehicles=vehicles, rules=rules)) == ("battery", "runs empty")
