# SPDX-License-Identifier: GPL-2.0-only
"""What a page says in sentences: the verdict on top and how its tables are read."""
import html

from ..columns import COLUMNS

_READING = (
    ("Sides", "Runs of all sides alternate (A B, then B A), so that a machine that changes its "
     "mood hurts all alike. The first side is the base of every ratio."),
    ("Ratio", "The median of a side's runs divided by the base's. A tilde (~) says that the "
     "Mann-Whitney test finds a difference of this size likely enough (p > 0.05) to be chance."),
    ("Interval", "The true median lies in it with the confidence beside it, by order statistics; "
     "few runs give wide intervals and little confidence."),
    ("Outliers", "Tests whose ratio lies beyond 1.5 interquartile ranges of their group's ratios, "
     "on a logarithmic scale."),
    ("n/a", "Not measured: the server is elsewhere, or this machine does not tell. Nothing is "
     "guessed."),
    ("Grey", "A figure that is not ranked: a fixed rate was not kept, or a difference is not "
     "certain."),
    ("Red", "A promise (durability, torn pages, binlog) that differs from the base's, or a run "
     "that failed. Figures of unequal sides do not compare."),
    ("Disk", "Reads and writes are those of the whole disk below the data folder, as the kernel "
     "counts them; other programs on the machine count too. What the kernel writes for one "
     "process (/proc/PID/io) is not used, as it counts whole folios of the page cache."),
    ("cs/o", "Context switches of the server's threads, looked at once a second."),
)


def how_to_read(summary):
    """A list of terms: the fixed ones, then the columns that the page has."""
    terms = list(_READING) + [(COLUMNS[name].title, COLUMNS[name].meaning)
                              for name in summary.columns(summary.tests)]
    items = "".join(f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>"
                    for term, text in dict(terms).items())
    return f"<dl>{items}</dl>"


def verdict(summary):
    """A sentence for each side but the base."""
    lines = []
    for target in summary.targets[1:]:
        sides = [(test, test.side(target)) for test in summary.tests]
        ranked = [(test, side) for test, side in sides if side.ratio]
        if not ranked:
            continue
        lower = [summary.lower_is_better(test) for test, _ in ranked]
        better = sum(1 for (_, side), low in zip(ranked, lower)
                     if side.certain and (side.ratio < 1) == low and side.ratio != 1)
        worse = sum(1 for (_, side), low in zip(ranked, lower)
                    if side.certain and (side.ratio > 1) == low and side.ratio != 1)
        lines.append(f"{target} against {summary.base}, {len(ranked)} "
                     f"test{'s' if len(ranked) > 1 else ''}: better in {better}, worse in {worse}, "
                     f"no certain difference in {len(ranked) - better - worse}.")
    return lines
