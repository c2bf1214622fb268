"""Target: recordings, whose bytes anybody may have written."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fuzz_files import Files, words_of
from fuzz_target import Target

import fleet_sim as fs

SCENARIO = {
    "simulation": {"gui": False, "timestep": 0.1, "target_rtf": 0},
    "robots": [{"name": "cart", "pose": [0, 0, 0.1]}, {"name": "arm", "urdf_path": "arm6", "use_fixed_base": True}],
    "objects": [{"name": "parcel", "pose": [1, 0, 0.1]}],
}


def seed() -> bytes:
    """Return a recording in chunks that are neither compressed nor summed up: mutants of others end at the checksum."""
    from mcap.writer import CompressionType, Writer

    from fleet_sim.apps.record.mcap_index import McapIndex

    with tempfile.TemporaryDirectory() as folder:
        path, plain = Path(folder, "run.mcap"), Path(folder, "plain.mcap")
        with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim, sim.record(path):
            sim.get_object("cart").set_goal_pose(fs.Pose((2.0, 0.0, 0.1)))
            for _ in range(3):
                sim.step_once()
            sim.get_object("cart").attach_object(sim.get_object("parcel"))
            sim.step_once()
        index = McapIndex(path)
        with plain.open("wb") as stream:
            writer = Writer(stream, compression=CompressionType.NONE, enable_crcs=False, chunk_size=20_000)
            writer.start()
            for name, data in index.attachments.items():
                writer.add_attachment(0, 0, name, "", data)
            for name, values in index.metadata.items():
                writer.add_metadata(name, values)
            channels: dict[str, int] = {}
            for topic, place in index.messages():
                if topic.name not in channels:
                    schema = writer.register_schema(topic.kind, "ros2msg", b"")
                    channels[topic.name] = writer.register_channel(topic.name, "cdr", schema, topic.metadata)
                writer.add_message(channels[topic.name], place.time, index.message(place), place.time)
            writer.finish()
        index.close()
        return plain.read_bytes()


def recording_target() -> Target:
    """Return the target of recordings, read from end to end."""
    from fleet_sim.apps.record.recording import Recording

    files, first = Files(), seed()

    def feed(data: bytes) -> None:
        file = files.write(data, "run.mcap")
        try:
            with Recording(file) as recording:
                for time in recording.times[:8].tolist():
                    recording.snapshot_at(time)
                _ = recording.scenario, recording.notes, recording.duration
        finally:
            files.clean(file)

    words = [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(8), b"\x06", b"NaN", b"1e999", b"/dev/zero", b"../"]
    return Target(feed, [first], words_of([first]) + words * 5, seconds=20.0)
