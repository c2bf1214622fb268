"""Reports: a run, two side by side, or the bands of many, as one page and as tables.

`page.py` says which figures there are, and makes the page. A page is one file, with its pictures inside, and
loads nothing from the network.
"""

from fleet_sim.apps.reports.page import page_of, seeds_page_of, write_table
from fleet_sim.apps.reports.sweep_page import aligned, comparison_lines, comparison_page_of, sweep_lines, sweep_page_of

__all__ = [
    "aligned",
    "comparison_lines",
    "comparison_page_of",
    "page_of",
    "seeds_page_of",
    "sweep_lines",
    "sweep_page_of",
    "write_table",
]
