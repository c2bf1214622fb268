"""Every verb and option that `ros2` of Jazzy has is known here, or refused with the reason."""

import argparse
import importlib
import re

import pytest

from pocket_ros.ros2cli.main import NOT_COVERED, NOT_COVERED_VERBS
from pocket_ros.ros2cli.main import run as main

UPSTREAM = """
action:
action info: -c --count --show-types -t
action list: -c --count-actions --show-types -t
action send_goal: -f --feedback --stdin
action type:
bag:
bag burst: -m -n --num-messages --qos-profile-overrides-path --read-ahead-queue-size --remap -s
    --services --start-offset --storage --storage-config-file --topics
bag convert: -i --input -o --output-options
bag info: -s --storage -t --topic-name -v --verbose
bag list: -v --verbose
bag play: --clock --clock-topics --clock-topics-all -d --delay --disable-keyboard-controls
    --disable-loan-message -e --exclude-regex --exclude-services --exclude-topics -l --log-level --loop
    -m -p --playback-duration --playback-until-nsec --playback-until-sec --publish-service-requests
    --qos-profile-overrides-path -r --rate --read-ahead-queue-size --regex --remap -s
    --service-requests-source --services --start-offset --start-paused --storage --storage-config-file
    --topics --wait-for-all-acked -x
bag record: -a --all --all-services --all-topics -b --compression-format --compression-mode
    --compression-queue-size --compression-threads --compression-threads-priority --custom-data -d
    --disable-keyboard-controls -e --exclude-regex --exclude-services --exclude-topic-types
    --exclude-topics -f --ignore-leaf-topics --include-hidden-topics --include-unpublished-topics
    --log-level --max-bag-duration --max-bag-size --max-cache-size --no-discovery --node-name -o --output
    -p --polling-interval --qos-profile-overrides-path --regex -s --serialization-format --services
    --snapshot-mode --start-paused --storage --storage-config-file --storage-preset-profile --topic-types
    --topics --use-sim-time
bag reindex: -s --storage
daemon start: -d --debug
daemon status:
daemon stop:
interface:
interface list: -a -m --only-actions --only-msgs --only-srvs -s
interface package: -a -m --only-actions --only-msgs --only-srvs -s
interface packages: -a -m --only-actions --only-msgs --only-srvs -s
interface proto: --no-quotes
interface show: --all-comments --no-comments
launch: -a -d --debug --launch-prefix --launch-prefix-filter -n --noninteractive -p --print
    --print-description -s --show-all-subprocesses-output --show-args --show-arguments
lifecycle:
lifecycle get: --include-hidden-nodes --no-daemon -s --spin-time --use-sim-time
lifecycle list: -a --all --include-hidden-nodes --no-daemon -s --spin-time --use-sim-time
lifecycle nodes: -a --all -c --count-nodes --no-daemon -s --spin-time --use-sim-time
lifecycle set: --include-hidden-nodes --no-daemon -s --spin-time --use-sim-time
node:
node info: --include-hidden --no-daemon -s --spin-time --use-sim-time
node list: -a --all -c --count-nodes --no-daemon -s --spin-time --use-sim-time
param:
param delete: --include-hidden-nodes --no-daemon -s --spin-time --timeout --use-sim-time
param describe: --include-hidden-nodes --no-daemon -s --spin-time --timeout --use-sim-time
param dump: --include-hidden-nodes --no-daemon -s --spin-time --timeout --use-sim-time
param get: --hide-type --include-hidden-nodes --no-daemon -s --spin-time --timeout --use-sim-time
param list: --filter --include-hidden-nodes --no-daemon --param-prefixes --param-type -s --spin-time
    --use-sim-time
param load: --include-hidden-nodes --no-daemon --no-use-wildcard -s --spin-time --timeout --use-sim-time
param set: --include-hidden-nodes --no-daemon -s --spin-time --timeout --use-sim-time
pkg:
pkg create: --build-type --dependencies --description --destination-directory --library-name --license
    --maintainer-email --maintainer-name --node-name --package-format --package_format
pkg executables: --full-path
pkg list:
pkg prefix: --share
pkg xml: -t --tag
run: --prefix
service: --include-hidden-services
service call: -r --rate --stdin
service echo: --csv -f --flow-style --full-length -l --no-arr --no-str --truncate-length
service find: -c --count-services --include-hidden-services
service info: --no-daemon -s --spin-time --use-sim-time
service list: -c --count-services --include-hidden-services --no-daemon -s --show-types --spin-time -t
    --use-sim-time
service type:
topic: --include-hidden-topics
topic bw: -s --spin-time --use-sim-time -w --window
topic delay: -s --spin-time --use-sim-time -w --window
topic echo: --qos-depth --qos-durability --qos-history --qos-liveliness
    --qos-liveliness-lease-duration-seconds --qos-profile --qos-reliability --csv -f --field --filter
    --flow-style --full-length -i --include-message-info -l --no-arr --no-daemon --no-lost-messages
    --no-str --once --raw -s --spin-time --timeout --truncate-length --use-sim-time
topic find: -c --count-topics --include-hidden-topics --no-daemon -s --spin-time --use-sim-time
topic hz: --filter -s --spin-time --use-sim-time -w --wall-time --window
topic info: --no-daemon -s --spin-time --use-sim-time -v --verbose
topic list: -c --count-topics --include-hidden-topics --no-daemon -s --show-types --spin-time -t
    --use-sim-time -v --verbose
topic pub: --qos-depth --qos-durability --qos-history --qos-liveliness
    --qos-liveliness-lease-duration-seconds --qos-profile --qos-reliability -1 --keep-alive
    --max-wait-time-secs -n --node-name --once -p --print -r --rate -s --spin-time --stdin -t --times
    --use-sim-time -w --wait-matching-subscriptions
topic type: --no-daemon -s --spin-time --use-sim-time
"""
ROWS = {
    name: words.split()
    for name, _, words in (
        line.partition(":") for line in re.sub(r"\n +", " ", UPSTREAM).strip().splitlines()
    )
}
REFUSED_OPTIONS = [
    ("bag play", "--publish-service-requests"),
    ("bag play", "--service-requests-source client_introspection"),
    ("bag play", "--storage-config-file mcap.yaml"),
    ("bag record", "--snapshot-mode"),
    ("bag record", "--start-paused"),
    ("bag record", "--storage-config-file mcap.yaml"),
    ("bag record", "--storage-preset-profile fastwrite"),
]


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What a parser takes, options without help among them; argparse has no public name for it."""
    return parser._actions


def _options(parser: argparse.ArgumentParser) -> set[str]:
    return {option for action in _actions(parser) for option in action.option_strings}


def _parser(name: str) -> argparse.ArgumentParser:
    command, _, verb = name.partition(" ")
    parser = argparse.ArgumentParser()
    importlib.import_module(f"pocket_ros.ros2cli.command.{command}").add_arguments(parser)
    if not verb:
        return parser
    (verbs,) = (action.choices for action in _actions(parser) if isinstance(action.choices, dict))
    found: argparse.ArgumentParser = verbs[verb]
    return found


@pytest.mark.parametrize("name", ROWS)
def test_a_verb_takes_the_options_of_upstream(name: str) -> None:
    command, _, verb = name.partition(" ")
    if verb in NOT_COVERED_VERBS.get(command, ()):
        assert (
            main(argv=[command, verb]) == f"'ros2 {name}' is not covered by pocket_ros; a full ROS 2 has it"
        )
        return
    assert set(ROWS[name]) - _options(_parser(name)) == set()


@pytest.mark.parametrize("command", NOT_COVERED)
def test_a_command_that_is_not_covered_is_named(command: str) -> None:
    assert main(argv=[command]) == f"'ros2 {command}' is not covered by pocket_ros; a full ROS 2 has it"


@pytest.mark.parametrize(("name", "words"), REFUSED_OPTIONS)
def test_an_option_that_is_not_covered_is_named_with_the_reason(name: str, words: str) -> None:
    option = words.split()[0]
    told = main(argv=[*name.split(), "somewhere", *words.split()])
    assert isinstance(told, str)
    assert told.startswith(f"'{option}' of 'ros2 {name}' is not covered by pocket_ros; a full ROS 2 ")


@pytest.mark.parametrize("option", ["--max-bag-size", "--max-bag-duration"])
def test_split_recordings_are_refused(option: str) -> None:
    told = main(argv=["bag", "record", "-a", option, "5"])
    assert told == "splitting recordings is not covered by pocket_ros; a full ROS 2 has it"
