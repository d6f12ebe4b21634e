# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench gate: a measurement is repeated and must not have become worse than an earlier one.

What is compared is the ratio to the base of the same run and round, so that a machine that is
busier today does not count. A test fails only if its ratio fell by more than a tenth and that is
not chance (p < 0.01); where both results have instructions per operation, these decide instead."""
import statistics
from dataclasses import dataclass

from ..paths import UserError
from .columns import COLUMNS
from .stats import difference_p

FALL_MAX, P_MAX = 0.10, 0.01
ROUNDS_MIN = 5   # of each side: with fewer the smallest p is above P_MAX
_INSTRUCTIONS = "instructions"


@dataclass
class Verdict:
    """Of one test and target. `change` is -0.15 where it became 15 % worse; None where one of the
    two results has no figure, which is a failure where it is the later one (`is_lost`)."""
    test: str
    target: str
    metric: str
    change: float
    p: float
    is_lost: bool = False

    @property
    def failed(self):
        return self.is_lost or (self.change is not None and self.change < -FALL_MAX
                                and self.p < P_MAX)


def require_rounds(document, name):
    """UserError for a result with which nothing could be judged to be more than chance."""
    if document["options"].get("rounds", 1) < ROUNDS_MIN:
        raise UserError(f"{name} has fewer than {ROUNDS_MIN} rounds: nothing could be judged to be "
                        "more than chance")


def judge(before, after):
    """The Verdicts of two result documents of one command."""
    if before["command"] != after["command"]:
        raise UserError(f"a result of {before['command']} does not judge {after['command']}")
    names = [target["name"] for target in before["targets"]]
    if len(names) < 2:
        raise UserError("the gate compares with a base: the result has one side only")
    verdicts = []
    for test in before["tests"]:
        for target in names[1:]:
            verdicts.append(_verdict(before, after, test, names[0], target))
    return verdicts


def _verdict(before, after, test, base, target):
    has_instructions = all(_ratios(document, test["id"], _INSTRUCTIONS, base, target)
                           for document in (before, after))
    metric = _INSTRUCTIONS if has_instructions else test["main"]
    old, new = [_ratios(document, test["id"], metric, base, target)
                for document in (before, after)]
    if not old or not new:
        return Verdict(test["id"], target, metric, None, None, bool(old) and not new)
    change = statistics.median(new) / statistics.median(old) - 1
    if COLUMNS[metric].better == "lower":
        change = statistics.median(old) / statistics.median(new) - 1
    return Verdict(test["id"], target, metric, change, difference_p(old, new))


def _ratios(document, test, metric, base, target):
    """The ratio to the base in each round that has both."""
    values = {(run["target"], run["round"]): run["metrics"].get(metric)
              for run in document["runs"] if run["test"] == test}
    rounds = sorted({number for _, number in values})
    return [values[target, number] / values[base, number] for number in rounds
            if values.get((target, number)) and values.get((base, number))]


def report(verdicts):
    """Lines for the screen; the last one is the sum."""
    lines = []
    for one in verdicts:
        mark = "FAILED    " if one.failed else "ok        "
        if one.change is None:
            lines.append(f"{mark if one.is_lost else 'not judged'}  {one.test} on {one.target}: "
                         f"no figure in the {'later' if one.is_lost else 'earlier'} result")
            continue
        lines.append(f"{mark}  {one.test} on {one.target}: {100 * one.change:+.1f} % "
                     f"({COLUMNS[one.metric].title}, p = {one.p:.3f})")
    failed = sum(one.failed for one in verdicts)
    lines.append(f"gate: {failed} of {len(verdicts)} became worse by more than "
                 f"{100 * FALL_MAX:.0f} % or have no figure any more")
    return lines
