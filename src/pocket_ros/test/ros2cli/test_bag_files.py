"""`ros2 bag convert` and `ros2 bag reindex`, read again with rosbags and with `ros2 bag info`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml
from rosbags.highlevel import AnyReader
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import Reader, StoragePlugin
from written_bags import TYPES, write_strings

from pocket_ros.ros2cli.main import main

Convert = Callable[..., str]
NOW = 1_700_000_000 * 10**9
LATCHED = Qos(
    QosHistory.KEEP_LAST,
    7,
    QosReliability.RELIABLE,
    QosDurability.TRANSIENT_LOCAL,
    QosTime(0, 0),
    QosTime(0, 0),
    QosLiveliness.AUTOMATIC,
    QosTime(0, 0),
    False,
)
write_bag = partial(write_strings, begin=NOW, profiles=[LATCHED])


def read_bag(path: Path) -> list[tuple[str, int, str]]:
    with AnyReader([path]) as reader:
        return [
            (connection.topic, (stamp - NOW) // 10**6, reader.deserialize(data, connection.msgtype).data)
            for connection, stamp, data in reader.messages()
        ]


def ros2_bag(*words: object) -> str:
    """Run `ros2 bag` in this process; what goes to standard error, empty where all is well."""
    return str(main(["bag", *map(str, words)]) or "")


@pytest.fixture
def convert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Convert:
    """Writes the settings of the output bags, and runs `ros2 bag convert` beside them."""
    monkeypatch.chdir(tmp_path)

    def run(inputs: list[Path], *bags: dict[str, object]) -> str:
        settings = tmp_path / "out.yaml"
        settings.write_text(yaml.safe_dump({"output_bags": list(bags)}))
        return ros2_bag("convert", *(word for path in inputs for word in ("-i", path)), "-o", settings)

    return run


def test_bags_are_merged_in_the_order_of_time(convert: Convert, tmp_path: Path) -> None:
    first = write_bag(tmp_path / "first", [("/a", 0, "1"), ("/a", 20, "3")])
    second = write_bag(tmp_path / "second", [("/b", 10, "2"), ("/a", 30, "4")], StoragePlugin.SQLITE3)
    errors = convert([first, second], {"uri": "merged", "storage_id": "sqlite3", "all": True})
    assert errors == ""
    assert read_bag(tmp_path / "merged") == [
        ("/a", 0, "1"),
        ("/b", 10, "2"),
        ("/a", 20, "3"),
        ("/a", 30, "4"),
    ]
    with Reader(tmp_path / "merged") as reader:
        connection = next(c for c in reader.connections if c.topic == "/b")
        assert connection.ext.offered_qos_profiles == [LATCHED]
        assert connection.digest == TYPES.hash_rihs01("std_msgs/msg/String")
    metadata = yaml.safe_load((tmp_path / "merged" / "metadata.yaml").read_text())
    assert metadata["rosbag2_bagfile_information"]["storage_identifier"] == "sqlite3"


def test_a_bag_is_split_by_topic(convert: Convert, tmp_path: Path) -> None:
    messages = [("/a", 0, "1"), ("/b/one", 1, "2"), ("/b/two", 2, "3"), ("/_hidden", 3, "4")]
    source = write_bag(tmp_path / "source", messages)
    errors = convert(
        [source],
        {"uri": "named", "topics": ["/a", "/absent"]},
        {"uri": "matching", "regex": "^/b/", "exclude_topics": ["/b/two"]},
        {
            "uri": "typed",
            "topic_types": ["std_msgs/msg/String"],
            "exclude_regex": "^/b",
            "include_hidden_topics": True,
        },
        {"uri": "nothing"},
    )
    assert errors == ""
    assert read_bag(tmp_path / "named") == messages[:1]
    assert read_bag(tmp_path / "matching") == messages[1:2]
    assert read_bag(tmp_path / "typed") == [messages[0], messages[3]]
    assert read_bag(tmp_path / "nothing") == []


@pytest.mark.parametrize("mode", ["file", "message"])
def test_a_bag_is_compressed_and_unpacked(convert: Convert, tmp_path: Path, mode: str) -> None:
    messages = [("/a", number, "text " * 200) for number in range(20)]
    source = write_bag(tmp_path / "source", messages)
    packed = {"uri": "packed", "all_topics": True, "compression_mode": mode, "compression_format": "zstd"}
    assert convert([source], packed) == ""
    size = sum(path.stat().st_size for path in (tmp_path / "packed").iterdir())
    assert size < source.joinpath("source.mcap").stat().st_size / 2
    assert read_bag(tmp_path / "packed") == messages
    assert convert([tmp_path / "packed"], {"uri": "plain", "all_topics": True}) == ""
    assert read_bag(tmp_path / "plain") == messages


@pytest.mark.parametrize(
    ("bag", "reason"),
    [
        ({"uri": "x", "topcis": ["/a"]}, "'topcis' is no setting of an output bag"),
        ({"uri": "x", "topics": "/a"}, "'topics' of an output bag cannot be '/a'"),
        ({"all_topics": True}, "an output bag has no uri"),
        ({"uri": "x", "storage_id": "cloud"}, "it can be mcap or sqlite3"),
        ({"uri": "x", "compression_mode": "file"}, "it can be zstd"),
        ({"uri": "x", "regex": "("}, "is no regular expression"),
        ({"uri": "x", "max_bagfile_size": 10}, "'max_bagfile_size' of 'ros2 bag convert' is not covered"),
        ({"uri": "source", "all_topics": True}, "Output folder 'source' already exists"),
    ],
)
def test_wrong_settings_write_nothing(
    convert: Convert, tmp_path: Path, bag: dict[str, object], reason: str
) -> None:
    source = write_bag(tmp_path / "source", [("/a", 0, "1")])
    errors = convert([source], bag)
    assert reason in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.yaml", "source"]


@pytest.mark.parametrize("storage", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_the_metadata_of_a_bag_is_made_again(
    tmp_path: Path, storage: StoragePlugin, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", [("/a", 0, "1"), ("/b", 1500, "2")], storage)
    before = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    (bag / "metadata.yaml").unlink()
    errors = ros2_bag("reindex", bag)
    assert errors == ""
    after = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    for name in before.keys() - {"topics_with_message_count", "ros_distro", "custom_data"}:
        assert after[name] == before[name], name
    by_name = {topic["topic_metadata"]["name"]: topic for topic in before["topics_with_message_count"]}
    for topic in after["topics_with_message_count"]:
        assert topic["message_count"] == 1
        known = by_name[topic["topic_metadata"]["name"]]["topic_metadata"]
        assert topic["topic_metadata"]["offered_qos_profiles"] == known["offered_qos_profiles"]
    capsys.readouterr()
    assert ros2_bag("info", bag) == ""
    assert "\nDuration:          1.500000000s\n" in capsys.readouterr().out
    assert read_bag(bag) == [("/a", 0, "1"), ("/b", 1500, "2")]


def test_files_are_taken_by_their_number(tmp_path: Path) -> None:
    parts = [write_bag(tmp_path / f"part_{n}", [("/a", n, str(n)), (f"/{n}", n, "x")]) for n in (2, 10)]
    bag = tmp_path / "bag"
    bag.mkdir()
    for part in reversed(parts):
        (part / f"{part.name}.mcap").rename(bag / f"{part.name}.mcap")
    assert ros2_bag("reindex", bag) == ""
    metadata = yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert metadata["relative_file_paths"] == ["part_2.mcap", "part_10.mcap"]
    assert [m for m in read_bag(bag) if m[0] == "/a"] == [("/a", 2, "2"), ("/a", 10, "10")]
    assert metadata["message_count"] == 4 and len(metadata["topics_with_message_count"]) == 3


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", [("/a", number, "x") for number in range(10)])
    (bag / "metadata.yaml").unlink()
    whole = (bag / "bag.mcap").read_bytes()
    (bag / "bag.mcap").write_bytes(whole[: len(whole) // 2])
    errors = ros2_bag("reindex", bag)
    assert "Could not read" in errors and "`mcap recover`" in errors
    assert not (bag / "metadata.yaml").exists()


def test_what_is_no_bag_is_refused(tmp_path: Path) -> None:
    assert "Must specify a bag directory" in ros2_bag("reindex", tmp_path / "absent")
    assert "No storage files found" in ros2_bag("reindex", tmp_path)
    (tmp_path / "bag.mcap").write_bytes(b"nonsense")
    errors = ros2_bag("reindex", tmp_path)
    assert "Could not read" in errors
