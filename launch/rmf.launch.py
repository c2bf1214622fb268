"""Launch a building of Open-RMF: `ros2 launch fleet_sim rmf.launch.py building:=office.building.yaml`."""

from fleet_sim.ros.launching import GUI, NAMESPACE, RTF, Argument, beside, simulation_launch

TITLE = "fleet_sim and Open-RMF: try in a second terminal, one after the other:"

ARGUMENTS = [
    Argument("building", "sites/two_floors.yaml", "A .building.yaml, or a scenario with a section `building`."),
    RTF,
    GUI,
    NAMESPACE,
]

# What a fleet adapter sends: a path to a robot, a door that opens, a lift that comes.
COMMANDS = (
    "ros2 topic echo /robot_state --once",
    "ros2 topic pub --once /robot_path_requests rmf_fleet_msgs/msg/PathRequest "
    '"{robot_name: porter_1, task_id: first, path: [{x: 2.0, y: 4.0}, {x: 5.0, y: 4.0}]}"',
    "ros2 topic pub --once /door_requests rmf_door_msgs/msg/DoorRequest "
    '"{door_name: lobby_door, requested_mode: {value: 2}}"',
    "ros2 topic pub --once /lift_requests rmf_lift_msgs/msg/LiftRequest "
    '"{lift_name: Lift1, request_type: 1, destination_floor: L2, door_state: 2, session_id: me}"',
    "ros2 service call /get_building_map rmf_building_map_msgs/srv/GetBuildingMap",
)


def generate_launch_description():
    """Return the node, and RViz if `rviz` is true."""
    config = beside(__file__, "rviz", "rmf.rviz")
    return simulation_launch(ARGUMENTS, (TITLE, *COMMANDS), rviz_config=config, rviz_robot="porter_1")
