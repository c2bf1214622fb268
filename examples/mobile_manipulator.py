"""A mobile manipulator drives to a shelf, picks a parcel with its arm and delivers it to a station.

Run: python examples/mobile_manipulator.py [folder for pictures]
"""

import sys
from pathlib import Path

import fleet_sim as fs
from fleet_sim.base.files import data_file, write_png

FORWARD = (0.0, 0.7071068, 0.0, 0.7071068)
"""Orientation of the gripper for reaching into the shelf: its z axis along x of the world."""

STEPS = {
    "1_drive": fs.MoveTo(fs.Pose.from_yaw(1.5, 0.0, 0.0, 0.0)),
    "2_pick": fs.Pick(
        "parcel_1",
        use_arm=True,
        ee_end_effector_link="tcp_link",
        ee_target_orientation=FORWARD,
        approach_offset=1.3,
        pick_offset=0.8,
    ),
    "3_drop": fs.Drop(
        (0.0, 2.85, 0.752), use_arm=True, ee_end_effector_link="tcp_link", approach_offset=1.3, drop_offset=0.75
    ),
}


def main() -> None:
    """Run the steps and print the status of each."""
    with fs.MultiRobotSimulationCore.from_yaml(data_file("config", "mobile_manipulator.yaml")) as sim:
        robot, parcel = sim.get_object("mm"), sim.get_object("parcel_1")
        for name, action in STEPS.items():
            robot.add_action(action)
            while not action.is_complete():
                sim.step_once()
            place = ", ".join(f"{value:.2f}" for value in parcel.get_pose().position)
            print(f"{name}: {action.status} after {action.get_duration():.2f} s; the parcel is at {place}")
            if len(sys.argv) > 1:
                write_png(Path(sys.argv[1]) / f"{name}.png", sim.draw_picture(480, 360))


if __name__ == "__main__":
    main()
