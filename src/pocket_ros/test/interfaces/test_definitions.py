"""Reading interface definitions."""

import pytest
from rosbags.typesys.stores import ros2_jazzy

from pocket_ros.interfaces import catalog
from pocket_ros.interfaces.definitions import Constant, DefinitionError, Field, FieldType, Shape, parse


def test_fields_constants_and_defaults() -> None:
    text = """
    # a comment
    uint8 RED=1        # another
    string NAME="a # b"
    float64 speed 1.5
    string<=8 label 'x'
    int32[] numbers [1, 2]
    Other[<=3] others
    Header header
    geometry_msgs/Point[2] corners
    """
    message = parse("my_msgs/msg/Thing", text)
    assert message.constants == (Constant("RED", "uint8", 1), Constant("NAME", "string", "a # b"))
    assert message.fields == (
        Field("speed", FieldType("float64"), 1.5),
        Field("label", FieldType("string", string_bound=8), "x"),
        Field("numbers", FieldType("int32", Shape.UNBOUNDED), [1, 2]),
        Field("others", FieldType("my_msgs/msg/Other", Shape.BOUNDED, 3)),
        Field("header", FieldType("std_msgs/msg/Header")),
        Field("corners", FieldType("geometry_msgs/msg/Point", Shape.ARRAY, 2)),
    )


def test_an_empty_message_has_one_member() -> None:
    assert [f.name for f in catalog.message("std_msgs/msg/Empty").fields] == [
        "structure_needs_at_least_one_member"
    ]


@pytest.mark.parametrize("text", ["float64", "int32 x maybe", "in t32 x"])
def test_what_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(DefinitionError, match=r"my_msgs/msg/Bad|field type"):
        parse("my_msgs/msg/Bad", text)


def test_a_service_needs_its_separator() -> None:
    with pytest.raises(DefinitionError, match="0 lines '---'"):
        parse("my_msgs/srv/Bad", "int32 x")


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(catalog.UnknownInterfaceError, match="did you mean 'geometry_msgs/msg/Twist'"):
        catalog.definition("geometry_msgs/msg/Twsit")


@pytest.mark.parametrize("name", sorted(ros2_jazzy.FIELDDEFS))
def test_bundled_definitions_are_those_of_jazzy(name: str) -> None:
    constants, fields = ros2_jazzy.FIELDDEFS[name]
    message = catalog.message(name)
    assert [f.name for f in message.fields] == [field for field, _ in fields]
    assert [(c.name, c.base) for c in message.constants] == [(c, base) for c, base, _ in constants]


def test_every_bundled_definition_can_be_read() -> None:
    for path in catalog.BUNDLED.glob("*/*/*.*"):
        catalog.definition(f"{path.parts[-3]}/{path.parts[-2]}/{path.stem}")


@pytest.mark.parametrize(
    "name", ["é" * 240 + "/msg/B", "a/msg/" + "é" * 240, "\ud800/msg/B", "../msg/B", "a\0/msg/B"]
)
def test_a_name_that_no_file_can_have_is_unknown(name: str) -> None:
    with pytest.raises(catalog.UnknownInterfaceError):
        catalog.definition(name)


def test_names_that_others_make_up_are_not_kept() -> None:
    for number in range(3000):
        with pytest.raises(catalog.UnknownInterfaceError):
            catalog.definition(f"made_up_{number}/msg/B")
    assert catalog._folders.cache_info().currsize <= 1024
    assert catalog.definition.cache_info().currsize < 3000


@pytest.mark.parametrize("name", ["a/msg/" + "B" * 300, "p" * 1_000_000 + "/msg/B"])
def test_a_name_that_no_interface_can_have_is_unknown(name: str) -> None:
    with pytest.raises(catalog.UnknownInterfaceError, match="have at most 255"):
        catalog.definition(name)
