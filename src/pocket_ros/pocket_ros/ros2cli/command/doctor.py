"""`ros2 doctor`."""

from __future__ import annotations

import argparse

from ...ros2doctor.api import generate_reports, run_checks
from ...ros2doctor.api.format import format_print
from ..verbs import add_verbs
from .doctor_hello import add_hello


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is printed."""
    add_hello(add_verbs(parser))
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--report", "-r", action="store_true", help="Print all reports")
    group.add_argument(
        "--report-failed", "-rf", action="store_true", help="Print reports of failed checks only"
    )
    parser.add_argument(
        "--exclude-packages", "-ep", action="store_true", help="Accepted; no package is looked at"
    )
    parser.add_argument(
        "--include-warnings", "-iw", action="store_true", help="Include warnings as failed checks"
    )
    parser.set_defaults(main=_doctor)


def _doctor(args: argparse.Namespace) -> None:
    if args.report:
        for report in generate_reports():
            format_print(report)
        return
    categories, failed, total = run_checks(include_warnings=args.include_warnings)
    if not failed:
        print(f"\nAll {total} checks passed\n")
        return
    print(f"\n{failed}/{total} check(s) failed\n")
    print("Failed modules:", *sorted(categories))
    if args.report_failed:
        for report in generate_reports(categories=categories):
            format_print(report)
