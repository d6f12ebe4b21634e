# SPDX-License-Identifier: GPL-2.0-only
"""The tables of every report as rows of text: what stands in them does not depend on the form."""
from dataclasses import dataclass, field

from ..columns import COLUMNS, shown
from ..summary import ratio_text

GREY, RED = "grey", "red"
# Commands whose groups are one table with many sides, which says more than its middle.
_WITHOUT_GROUP_FIGURES = ("sync", "commit")
_RATIO_COLUMNS_MAX = 2


@dataclass
class Table:
    """`marks` names cells that are shown grey or red: {(row, column): mark}."""
    title: str
    header: list
    rows: list = field(default_factory=list)
    marks: dict = field(default_factory=dict)

    def add(self, cells, marks=None):
        for column, mark in (marks or {}).items():
            self.marks[len(self.rows), column] = mark
        self.rows.append(cells)


def main_table(summary, title, tests):
    """One line a test: the main metric of each side, and ratios to the base; behind the figures
    where there are many sides."""
    mains = {test.main for test in tests}
    unit = COLUMNS[mains.pop()].title if len(mains) == 1 else "test"
    others = summary.targets[1:]
    rated = any(side.ratio is not None or side.missed for test in tests for side in test.sides[1:])
    inside = rated and len(others) > _RATIO_COLUMNS_MAX
    if inside:
        unit += f" (ratio to {summary.base})"
    ratios = [f"{target} / {summary.base}" for target in others] if rated and not inside else []
    table = Table(title, [unit, *summary.targets, *ratios])
    for test in tests:
        cells, marks = [test.title], {}
        for number, side in enumerate(test.sides, 1):
            cells.append(_main_cell(test, side) + (
                f" ({side.ratio_text()})" if inside and side.ratio else ""))
            if side.missed:
                marks[number] = GREY
            elif side.problem and not side.median:
                marks[number] = RED
        for number, side in enumerate(test.sides[1:] if ratios else [], len(summary.targets) + 1):
            cells.append("not ranked" if side.missed else side.ratio_text())
            if side.missed or side.ratio is None or not side.certain:
                marks[number] = GREY
        table.add(cells, marks)
    return table


def _main_cell(test, side):
    if side.median is None:
        return "failed" if side.problem else "n/a"
    return shown(test.main, side.median.value)


def group_table(summary):
    """Minimum, maximum, median and geometric mean of the ratios of each group."""
    table = Table("Ratios of each group", ["group", "tests", "min", "max", "median", "geo mean",
                                           "outliers"])
    several = len(summary.targets) > 2
    if summary.document["command"] in _WITHOUT_GROUP_FIGURES:
        return table
    for group, _, figures in summary.groups():
        for target, one in figures.items():
            if one is None:
                continue
            name = f"{group['title']}: {target}" if several else group["title"]
            table.add([name, str(one.count), ratio_text(one.lowest), ratio_text(one.highest),
                       ratio_text(one.median), ratio_text(one.geometric_mean),
                       ", ".join(one.outliers) or "none"])
    return table


def resource_table(summary, test):
    """One line a side: every column, in absolute figures."""
    columns = summary.columns([test])
    table = Table(test.name, ["", *[COLUMNS[name].title for name in columns]])
    for side in test.sides:
        table.add([side.target, *[shown(name, side.metrics.get(name)) for name in columns]],
                  {number: GREY for number in range(len(columns) + 1)} if side.missed else None)
    return table


def turned(table):
    """The same with a line for each column, where there are more of these than fit."""
    rows = [[title, *[row[column] for row in table.rows]]
            for column, title in enumerate(table.header) if column]
    return Table(table.title, [table.header[0], *[row[0] for row in table.rows]], rows,
                 {(column - 1, row + 1): mark for (row, column), mark in table.marks.items()})


def relative_table(summary, test):
    """The same columns relative to the base."""
    columns = [name for name in summary.columns([test]) if test.sides[0].metrics.get(name)]
    table = Table(f"{test.name}, relative to {summary.base}",
                  ["", *[_relative_title(COLUMNS[name].title) for name in columns]])
    base = test.sides[0].metrics
    for side in test.sides[1:]:
        table.add([side.target, *[_quotient(side.metrics.get(name), base[name])
                                  for name in columns]])
    return table


def _relative_title(title):
    return f"r{title}" if title == "QPS" else title


def _quotient(value, base):
    return "n/a" if value is None or not base else f"{value / base:.2f}"


def confidence_table(summary, tests):
    """The medians with their intervals and how sure the difference is."""
    table = Table("Medians, their confidence intervals, and whether they differ",
                  ["test", "side", "median", "from", "to", "confidence", "runs", "p"])
    for test in tests:
        for side in test.sides:
            middle = side.median
            if middle is None:
                continue
            table.add([test.name, side.target, *[shown(test.main, value) for value in
                                                 (middle.value, middle.low, middle.high)],
                       f"{100 * middle.confidence:.0f} %", str(middle.count),
                       "base" if side.target == summary.base else
                       "n/a" if side.p is None else f"{side.p:.3f}"])
    return table


def latency_table(summary, tests):
    """Percentiles of all runs of a side together."""
    names = ("p50", "p95", "p99", "p999", "max")
    table = Table("Latency, microseconds", ["test", "side", "p50", "p95", "p99", "p99.9", "max",
                                            "worst second's p99, ms"])
    for test in tests:
        for side in test.sides:
            if side.latencies:
                table.add([test.name, side.target,
                           *[shown(name, side.latencies.get(name)) for name in names],
                           shown("worst_second_ms", side.metrics.get("worst_second_ms"))])
    return table


def settings_table(summary):
    """What each side promises and is given; what differs from the base's promise is red."""
    targets = summary.document["targets"]
    names = list(dict.fromkeys(name for target in targets for name in target["settings"]))
    table = Table("Settings", ["", *summary.targets])
    red = {(name, what) for name, what, _, _ in summary.unequal()}
    for what, read in (("server", lambda target: target["version"]),
                       ("engine", lambda target: target["engine"]),
                       ("address", lambda target: target["address"]),
                       ("/proc", lambda target: "read" if target["observed"] else "n/a")):
        table.add([what, *[read(target) for target in targets]])
    for what in names:
        table.add([what, *[str(target["settings"].get(what, "n/a")) for target in targets]],
                  {number: RED for number, target in enumerate(targets, 1)
                   if (target["name"], what) in red})
    return table


def problems(summary):
    """[sentence] of what failed or was missed."""
    lines = []
    for test in summary.tests:
        for side in test.sides:
            if side.problem:
                lines.append(f"{test.name} on {side.target} failed: {side.problem}")
            if side.missed:
                lines.append(f"{test.name} on {side.target}: {side.missed}")
    return lines
