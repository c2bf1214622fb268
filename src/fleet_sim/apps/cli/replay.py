"""`fleet-sim replay`: what a recording holds, on the screen or on ROS topics; makes whole what was cut off."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fleet_sim.apps.cli.arguments import add_detail, check_speed
from fleet_sim.base.errors import ConfigError

if TYPE_CHECKING:
    from fleet_sim.apps.record.recording import Recording


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("replay", help="show the content of a recording, publish it on ROS, or repair it")
    parser.add_argument(
        "recording", metavar="FILE.mcap", help="a recording of `fleet-sim run --record`, or its unfinished .part file"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--info", action="store_true", help="print its content (default)")
    what.add_argument("--publish", action="store_true", help="publish it on ROS topics, with /clock")
    what.add_argument("--repair", metavar="OUT.mcap", help="write the readable part to a new recording")
    speed = "speed; 1 = as recorded (default), 0 = as fast as possible"
    add_detail(parser, "--publish", "--speed", speed, type=float, metavar="X")
    add_detail(parser, "--publish", "--start", "time to start at", type=float, metavar="SECONDS")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Do what the options say; return 0."""
    if not args.publish and (args.speed is not None or args.start is not None):
        raise ConfigError("--speed and --start are for --publish")
    if args.repair is not None:
        from fleet_sim.apps.record.mcap_index import repair

        count = repair(args.recording, args.repair)
        print(f"{args.repair}: {count} messages")
        return 0
    from fleet_sim.apps.record.recording import Recording

    with Recording(args.recording) as recording:
        if args.publish:
            publish(recording, 1.0 if args.speed is None else args.speed, args.start or 0.0)
        else:
            print("\n".join(description(recording)))
    return 0


def publish(recording: Recording, speed: float, start: float) -> None:
    """Publish the messages of `recording` in their order; raises ConfigError for a speed or a start that cannot be."""
    check_speed("--speed", speed)
    if not 0.0 <= start <= recording.duration:
        raise ConfigError(f"--start: the recording is {recording.duration:g} s long, got {start:g}")
    if find_spec("rclpy") is None:
        raise ConfigError("--publish needs ROS 2, or pocket_ros: see docs/ros.md")
    from fleet_sim.ros.playback import play

    index = recording.index
    latched = {name for name, topic in index.topics.items() if "transient_local" in str(topic.metadata)}
    kinds = {name: topic.kind for name, topic in index.topics.items()}
    messages = ((topic.name, place.time, index.message(place)) for topic, place in index.messages())
    count = play(kinds, latched, messages, speed=speed, start=recording.times[0] + start)
    print(f"{count} messages published")


def description(recording: Recording) -> list[str]:
    """Return what is in a recording, in lines."""
    index, about = recording.index, recording.about
    state = recording.snapshot_at(float(recording.times[-1]))
    scenario = "the scenario is in it"
    if not recording.scenario:
        scenario = f"no scenario: {about.get('scenario', 'made in Python')}"
    robots = int(state.agent_mask.sum())
    lines = [
        f"{recording.path}: {recording.duration:g} s of simulated time from {recording.times[0]:g} s on, "
        f"{len(recording.times)} samples, {index.message_count} messages",
        f"  made by fleet_sim {about.get('version')}, seed {about.get('seed')}, step {about.get('timestep')} s",
        f"  {robots} robots and {len(state.names) - robots} objects at the end",
        f"  {scenario}",
    ]
    lines += [f"  note: {note}" for note in recording.notes]
    # Topics of many robots are one line.
    kinds: dict[tuple[str, str], list[int]] = {}
    for topic in index.topics.values():
        robot, slash, rest = topic.name[1:].partition("/")
        name = f"/<robot>/{rest}" if slash and robot in state.names else topic.name
        counts = kinds.setdefault((name, topic.kind), [0, 0])
        counts[0] += 1
        counts[1] += len(topic.places)
    width = max(len(name) for name, _ in kinds)
    lines += [
        f"  {name:<{width}}  {kind:<36} {messages:>8}" + (f"  of {topics} robots" if topics > 1 else "")
        for (name, kind), (topics, messages) in kinds.items()
    ]
    return lines
