"""The benchmark's output: one table with its blocks."""

from __future__ import annotations

from statistics import median

from plan import PEER_LIMIT, Plan
from results import Results
from workload import Case

WORKLOAD = """\
Workload: that of pybullet-fleet's own benchmark. Cubes of 0.1 m on a grid of 1 m, physics off, time step 0.1 s, no
window, as fast as possible. half: half of the robots drive to seeded goals on the grid and up to 10 m around it, and
stop there; all: every robot drives on and on. check: collisions checked in each step, or never.
step: median of the measured steps (after 10 to warm up), then of the rounds, ms; in each round fleet_sim's run is
repeated for half a second. ratio: median of the rounds' ratios.
RTF: simulated over wall time of all measured steps. spawn: the whole fleet, ms. memory: by how much the resident set
grew from before the spawn to the end of the run, kB per robot."""

UNDISTURBED = 0.9

PARITY_NOTE = """\
pybullet-fleet's collision_margin (0.02 m in both) does not reach boxes, fleet_sim's does: more collisions. Its robots
start one step after their command, so it is given one step more. Differential robots take other ways in the two."""


def print_all(plan: Plan, results: Results) -> None:
    """Print every block."""
    print(WORKLOAD)
    print_comparison(plan, results)
    print_own(plan, results)
    print_systems(plan, results)
    print_parity(plan, results)
    print_budgets(plan, results)
    print_load(results)


def print_comparison(plan: Plan, results: Results) -> None:
    """Print fleet_sim and the peer side by side."""
    columns = ("step", "ratio", "RTF", "spawn", "memory")
    print(f"\n{'':36}{'fleet_sim':^42}{'pybullet-fleet':^32}")
    print(
        f"{'robots':>7} {'moving':6} {'motion':12} {'check':5}  "
        + "".join(f"{name:>8}" for name in columns)
        + "  "
        + "".join(f"{name:>8}" for name in columns if name != "ratio")
    )
    for case in plan.compared():
        check = "yes" if case.collisions else "no"
        print(
            f"{case.robots:7} {case.moving:6} {case.motion:12} {check:5}  "
            + _cells(results, "ours", case, ratio=True)
            + "  "
            + _cells(results, "peer", case, ratio=False)
        )


def print_own(plan: Plan, results: Results) -> None:
    """Print the cases of fleet_sim only: the ways to keep PyBullet up to date."""
    print("\nfleet_sim, half moving, omnidirectional: PyBullet kept up to date")
    print(f"{'robots':>7} {'pose_flush':34}{'step':>8}{'RTF':>8}{'spawn':>8}{'memory':>8}")
    for robots in plan.sizes:
        basic = plan.basic(robots)
        for name, case in (
            ("demand: only where something asks", basic),
            ("step: every moved pose", plan.flushed(basic)),
            ("sim.client asked for at the spawn", plan.bodied(basic)),
        ):
            if ("ours", case) in results.runs:
                print(f"{robots:7} {name:34}{_cells(results, 'ours', case, ratio=False)}")


def print_systems(plan: Plan, results: Results) -> None:
    """Print the share of each system in the step."""
    shares = [(robots, results.systems(plan.basic(robots))) for robots in plan.sizes]
    print("\nfleet_sim, half moving, omnidirectional: mean time of each system, ms, and its share")
    print(f"{'system':18}" + "".join(f"{f'{robots} robots':>20}" for robots, _ in shares))
    for name in shares[0][1]:
        cells = (f"{times[name]:12.4f}{times[name] / sum(times.values()):8.1%}" for _, times in shares)
        print(f"{name:18}" + "".join(cells))
    print(f"{'sum':18}" + "".join(f"{sum(times.values()):12.4f}{'':8}" for _, times in shares))


def print_parity(plan: Plan, results: Results) -> None:
    """Print the counts of both simulators on the same workload."""
    print(
        "\nThe same happened in both (half moving, omnidirectional): robots still moving at the end, collisions begun"
    )
    print(f"{'robots':>7}{'fleet_sim, margin 0':>24}{'pybullet-fleet':>20}{'fleet_sim, margin 0.02':>26}")
    for exact in plan.parity():
        case = plan.basic(exact.robots)
        cells = (_counts(results, "ours", exact), _counts(results, "peer", case), _counts(results, "ours", case))
        print(f"{case.robots:7}{cells[0]:>24}{cells[1]:>20}{cells[2]:>26}")
    print(PARITY_NOTE)


def print_budgets(plan: Plan, results: Results) -> None:
    """Print the budgets and whether they are met."""
    print(f"\n{'budget':52}{'limit':>14}{'measured':>14}  verdict")
    for budget in plan.budgets():
        value = budget.measure(results, budget.case)
        sign = ">=" if budget.least else "<="
        measured = "-" if value is None else f"{value:.3g} {budget.unit}"
        print(f"{budget.what:52}{f'{sign} {budget.limit:g} {budget.unit}':>14}{measured:>14}  {budget.verdict(value)}")
    if any(robots > PEER_LIMIT for robots in plan.sizes):
        print(f"pybullet-fleet is measured up to {PEER_LIMIT} robots.")


def print_load(results: Results) -> None:
    """Print whether the measuring processes got a full core."""
    shares = results.core_shares()
    print(f"\nThe measuring processes were given {median(shares):.0%} of a core (median), {min(shares):.0%} at worst.")
    if min(shares) < UNDISTURBED:
        print("The machine had other work at the same time: times are too long, ratios uncertain. Measure again.")


def _cells(results: Results, program: str, case: Case, *, ratio: bool) -> str:
    value = results.value
    cells = [_number(value(program, case, "step_ms"), 3)]
    if ratio:
        cells.append(_number(results.ratio(case), 1))
    cells.append(_number(value(program, case, "rtf"), 1))
    cells.append(_number(value(program, case, "spawn_ms"), 1))
    cells.append(_number(value(program, case, "kb_after_run"), 2))
    return "".join(f"{cell:>8}" for cell in cells)


def _counts(results: Results, program: str, case: Case) -> str:
    moving, events = (results.value(program, case, key) for key in ("still_moving", "collision_events"))
    return "-" if moving is None or events is None else f"{moving:.0f} / {events:.0f}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
