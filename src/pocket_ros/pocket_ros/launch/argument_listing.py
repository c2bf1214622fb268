"""The arguments of a launch description, as `--show-args` prints them."""

from .launch_description import LaunchDescription
from .utilities.substitutions import describe_substitutions


def print_arguments_of_launch_description(launch_description: LaunchDescription) -> None:
    """Print each argument with its description and its default."""
    print("Arguments (pass arguments as '<name>:=<value>'):")
    arguments = launch_description.get_launch_arguments()
    if not arguments:
        print("\n  No arguments.")
    for argument in arguments:
        print(f"\n    '{argument.name}':")
        print("\n".join("        " + line for line in argument.description.splitlines()))
        if argument.default_value is not None:
            print(f"        (default: {describe_substitutions(argument.default_value)})")
