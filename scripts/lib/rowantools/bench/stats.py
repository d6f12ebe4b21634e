# SPDX-License-Identifier: GPL-2.0-only
"""Statistics of repeated runs: what may be said from few samples that follow no known law.

The median with a confidence interval by order statistics, the Mann-Whitney U test for whether two
sides differ at all, and for groups of tests minimum, maximum, median and geometric mean."""
import math
import statistics
from dataclasses import dataclass

from scipy import stats as scipy_stats

SIGNIFICANT = 0.05
_CONFIDENCE = 0.95
_FENCE = 1.5  # interquartile ranges beyond the quartiles: Tukey's outliers


@dataclass
class Median:
    """A median and the interval that holds the true one with `confidence`, which with few samples
    is less than was asked for: the whole range of three samples holds it with 75 %."""
    value: float
    low: float
    high: float
    confidence: float
    count: int


def median_of(samples):
    """The Median of at least one sample."""
    ordered = sorted(samples)
    count = len(ordered)
    law = scipy_stats.binom(count, 0.5)
    # The smallest symmetric pair of order statistics that is sure enough, else the whole range.
    outside = 0
    while outside + 1 <= (count - 1) // 2 and 1 - 2 * law.cdf(outside + 1) >= _CONFIDENCE:
        outside += 1
    confidence = max(0.0, 1 - 2 * float(law.cdf(outside)))
    return Median(statistics.median(ordered), ordered[outside], ordered[count - 1 - outside],
                  confidence, count)


def difference_p(first, second):
    """The two-sided p of the Mann-Whitney U test, or None where a side has no samples. With fewer
    than four a side it cannot fall below 0.05, whatever the samples are."""
    if not first or not second:
        return None
    if len(set(first) | set(second)) == 1:
        return 1.0
    exact = len(set(first) | set(second)) == len(first) + len(second)
    return float(scipy_stats.mannwhitneyu(first, second, alternative="two-sided",
                                          method="exact" if exact else "asymptotic").pvalue)


def differs(first, second):
    """Whether the two sides may be said to differ."""
    p = difference_p(first, second)
    return p is not None and p <= SIGNIFICANT


@dataclass
class GroupFigures:
    """Ratios of one group of tests."""
    count: int
    lowest: float
    highest: float
    median: float
    geometric_mean: float
    outliers: list   # names whose ratio is beyond Tukey's fences


def group_of(ratios):
    """Figures of {test: ratio}, or None without any."""
    usable = {name: ratio for name, ratio in ratios.items() if ratio and ratio > 0}
    if not usable:
        return None
    values = sorted(usable.values())
    low, high = _fences([math.log(value) for value in values])
    outliers = [name for name, ratio in usable.items() if not low <= math.log(ratio) <= high]
    return GroupFigures(len(values), values[0], values[-1], statistics.median(values),
                        statistics.geometric_mean(values), outliers)


def _fences(values):
    if len(values) < 4:
        return -math.inf, math.inf
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    width = _FENCE * (third - first)
    return first - width - 1e-12, third + width + 1e-12
