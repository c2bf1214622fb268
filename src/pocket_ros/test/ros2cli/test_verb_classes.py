"""The verbs of `ros2` as classes, as programs that build on them import them."""

import argparse
import importlib
from typing import Any

import pytest
from ros2node.verb.info import InfoVerb as NodeInfoVerb
from ros2topic.verb import VerbExtension
from ros2topic.verb.echo import EchoVerb
from ros2topic.verb.info import InfoVerb

from pocket_ros.places import VERBS


class ParserOfVerbs(argparse.ArgumentParser):
    """Remembers what its verbs were added to."""

    verbs: Any

    def add_subparsers(self, **options: Any) -> Any:
        self.verbs = super().add_subparsers(**options)
        return self.verbs


@pytest.mark.parametrize("command", VERBS)
def test_every_verb_has_a_class_that_takes_its_arguments(command: str) -> None:
    parser = ParserOfVerbs()
    importlib.import_module(f"pocket_ros.ros2cli.command.{command}").add_arguments(parser)
    verbs = parser.verbs
    assert sorted(verbs.choices) == sorted(VERBS[command])
    for verb in VERBS[command]:
        module = importlib.import_module(f"ros2{command}.verb.{verb}")
        (name,) = module.__all__
        extension = getattr(module, name)()
        assert isinstance(extension, VerbExtension) and verb == extension.NAME
        own = argparse.ArgumentParser()
        extension.add_arguments(own, "ros2")
        assert own.format_usage().split()[3:] == verbs.choices[verb].format_usage().split()[4:]


def test_a_verb_runs_with_what_it_is_given_and_its_defaults(robot: Any, capsys: Any) -> None:
    args = argparse.Namespace(topic_name="/fleet/point")
    assert InfoVerb().main(args=args) is None
    assert capsys.readouterr().out.startswith("Type: geometry_msgs/msg/PointStamped\nPublisher count: 1\n")
    args.topic_name = "/fleet/nothing"
    assert InfoVerb().main(args=args) == "Unknown topic '/fleet/nothing'"


def test_a_verb_of_ones_own_builds_on_one_of_ros2(robot: Any, capsys: Any) -> None:
    class Once(EchoVerb):
        """Prints one message."""

        def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
            super().add_arguments(parser, cli_name)
            parser.set_defaults(once=True)

    parser = argparse.ArgumentParser()
    Once().add_arguments(parser, "ros2 topic")
    Once().main(args=parser.parse_args(["/fleet/point", "--field", "point.x"]))
    assert capsys.readouterr().out == "1.5\n---\n"


def test_a_wrong_word_is_told_by_the_parser(capsys: Any) -> None:
    parser = argparse.ArgumentParser()
    NodeInfoVerb().add_arguments(parser, "ros2 node")
    with pytest.raises(SystemExit):
        parser.parse_args(["/a", "--nothing"])
    assert "unrecognized arguments: --nothing" in capsys.readouterr().err
