# SPDX-License-Identifier: GPL-2.0-only
"""What a result says: medians a test and side, ratios to the base, groups. Reports only draw it."""
import statistics
from dataclasses import dataclass, field

from .columns import COLUMNS
from .histogram import merged
from .settings import unequal
from .stats import difference_p, group_of, median_of, SIGNIFICANT

_STATES = {"running": "still runs", "interrupted": "was interrupted",
           "failed": "ended with an error"}


@dataclass
class Side:
    """One target in one test."""
    target: str
    metrics: dict                 # name: median over the runs, None where unknown
    median: object = None         # stats.Median of the main metric; None without a run
    samples: list = field(default_factory=list)
    ratio: float = None           # of the main metric to the base's; above 1 is better or more
    p: float = None               # that the two do not differ
    missed: str = ""              # a target rate that was not kept: not ranked
    problem: str = ""
    latencies: dict = field(default_factory=dict)   # percentiles of all runs together
    by_second: list = field(default_factory=list)   # of the last run
    retries: dict = field(default_factory=dict)
    facts: dict = field(default_factory=dict)
    stacks: dict = field(default_factory=dict)      # what was counted: {folded stack: count}

    @property
    def certain(self):
        """Whether the side may be said to differ from the base."""
        return self.p is not None and self.p <= SIGNIFICANT

    def ratio_text(self):
        """1.25, with a tilde in front where it may be chance."""
        if self.ratio is None:
            return "n/a"
        return f"{'' if self.certain else '~'}{ratio_text(self.ratio)}"


def ratio_text(ratio):
    """1.25, 0.0042: two figures that count."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


@dataclass
class TestSummary:
    name: str
    group: str
    title: str
    main: str
    sides: list
    clients: int = None   # where that is what tells the tests of a group apart

    def side(self, target):
        return next((side for side in self.sides if side.target == target), None)


class Summary:
    """Of a valid result document."""

    def __init__(self, document):
        self.document = document
        self.targets = [target["name"] for target in document["targets"]]
        self.base = self.targets[0] if self.targets else ""
        self._runs = {}
        for run in document["runs"]:
            self._runs.setdefault((run["test"], run["target"]), []).append(run)
        self.tests = [self._test(test) for test in document["tests"] if any(
            (test["id"], target) in self._runs for target in self.targets)]

    def _test(self, test):
        sides = [self._side(test, target) for target in self.targets]
        base = sides[0]
        for side in sides[1:]:
            side.p = difference_p(base.samples, side.samples)
            if base.median and side.median and base.median.value and side.median.value \
                    and not side.missed:
                side.ratio = side.median.value / base.median.value
        return TestSummary(test["id"], test["group"], test["title"], test["main"], sides,
                           test.get("clients"))

    def _side(self, test, target):
        runs = self._runs.get((test["id"], target), [])
        names = {name for run in runs for name in run["metrics"]}
        metrics = {name: _median([run["metrics"].get(name) for run in runs]) for name in names}
        samples = [run["metrics"][test["main"]] for run in runs
                   if run["metrics"].get(test["main"]) is not None]
        side = Side(target, metrics, median_of(samples) if samples else None, samples)
        side.missed = next((run["missed"] for run in runs if run.get("missed")), "")
        side.problem = next((run["problem"] for run in runs if run.get("problem")), "")
        encoded = [run["latencies"] for run in runs if run.get("latencies")]
        if encoded:
            side.latencies = merged(encoded).figures()
            longest = [run["metrics"].get("max") for run in runs if run["metrics"].get("max")]
            side.latencies["max"] = max(longest, default=side.latencies["max"])
        for run in runs:
            side.by_second = run.get("by_second", {}).get("rate", side.by_second)
            side.facts.update(run.get("facts", {}))
            side.stacks = run.get("stacks", side.stacks)
            for code, count in run.get("retries", {}).items():
                side.retries[code] = side.retries.get(code, 0) + count
        return side

    def groups(self):
        """[(group, {target: GroupFigures of the ratios})] of groups that have tests."""
        found = []
        for group in self.document["groups"]:
            tests = [test for test in self.tests if test.group == group["id"]]
            if tests:
                found.append((group, tests, {
                    target: group_of({test.title: test.side(target).ratio for test in tests})
                    for target in self.targets[1:]}))
        return found

    def lower_is_better(self, test):
        return COLUMNS[test.main].better == "lower"

    def unequal(self):
        """Promises that differ between the sides."""
        return unequal(self.document["targets"])

    def columns(self, tests):
        """The result's columns that any of `tests` has a figure for, or that nothing could tell."""
        return [name for name in self.document["columns"]
                if any(name in side.metrics for test in tests for side in test.sides)]

    def notes(self):
        notes = list(self.document["notes"])
        state = self.document["state"]
        if state != "complete":
            notes.insert(0, f"This result is partial: the measurement {_STATES[state]}.")
        rounds = max((len(runs) for runs in self._runs.values()), default=0)
        if rounds < 4 and len(self.targets) > 1:
            notes.append("With fewer than four rounds no difference can be shown to be more than "
                         "chance, so every ratio has a tilde (~); --rounds 4 or more allows it.")
        return notes


def _median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
