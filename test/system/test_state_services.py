"""/sim/save and /sim/load with files: another node goes on from them, and all lie in the folder of the operator."""

from __future__ import annotations

from pathlib import Path

from node_program import running

from fleet_sim import MultiRobotSimulationCore
from fleet_sim_msgs.msg import FleetState
from fleet_sim_msgs.srv import Delete, Load, Save


def test_a_state_goes_to_a_file_below_the_folder_and_back(tmp_path: Path) -> None:
    folder = tmp_path / "states"
    folder.mkdir()
    (folder / "way").symlink_to(tmp_path)
    node = ("-p", "robots:=2", "-p", "target_rtf:=5.0", "-p", f"state_folder:={folder}")
    with running(tmp_path / "node.log", *node) as (_, client):
        states = client.listen(FleetState, "/fleet/states")
        client.until(lambda: states and len(states[-1].robots) == 2, "both robots")
        saved = client.call(Save, "/sim/save", Save.Request(file="noon.state"))
        assert (saved.success, saved.message, saved.names) == (True, "", [])
        client.call(Delete, "/sim/delete", Delete.Request(names=["robot_0"]))
        client.until(lambda: len(states[-1].robots) == 1, "one robot")
        loaded = client.call(Load, "/sim/load", Load.Request(file="noon.state"))
        assert (loaded.success, loaded.message) == (True, "")
        client.until(lambda: len(states[-1].robots) == 2, "the state of the file")
        refused = client.call(Load, "/sim/load", Load.Request(file="moon.state"))
        assert (refused.success, refused.message) == (False, "there is no file 'moon.state'")
        for name in ("../out.state", "/tmp/out.state", "way/out.state"):
            refused = client.call(Save, "/sim/save", Save.Request(file=name))
            assert (refused.success, "expected a name below the folder" in refused.message) == (False, True)
    assert [file.name for file in tmp_path.rglob("*.state")] == ["noon.state"]
    # Another process goes on from it: the robots of the node are no part of its scenario, but of its state.
    with MultiRobotSimulationCore.from_state(folder / "noon.state") as sim:
        assert [agent.name for agent in sim.agents] == ["robot_0", "robot_1"]
