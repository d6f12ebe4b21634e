# SPDX-License-Identifier: GPL-2.0-only
"""A result on a terminal."""
import os
import sys

from .tables import GREY, RED, group_table, main_table, problems

_ESCAPES = {GREY: "\x1b[2m", RED: "\x1b[31m"}


def terminal_text(summary, path=None, coloured=None):
    """The main table of each group, the groups' figures, notes and where everything lies."""
    if coloured is None:
        coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    document = summary.document
    parts = [headline(document)]
    for name, what, value, other in summary.unequal():
        parts.append(f"UNEQUAL: {what} of {name} is \"{value}\", of {summary.base} \"{other}\"")
    for group, tests, _ in summary.groups():
        parts.append(plain_table(main_table(summary, group["title"], tests), coloured))
    ratios = group_table(summary)
    if ratios.rows:
        parts.append(plain_table(ratios, coloured))
    parts += problems(summary) + summary.notes()
    if path:
        parts.append(str(path))
    return "\n\n".join(parts)


def headline(document):
    machine = document["machine"]
    return (f"scripts/bench {document['command']}: {machine['cores']} cores ({machine['cpu']}), "
            f"{machine['memory_mib']:,} MiB, Linux {machine['kernel']}, load "
            f"{machine['load']} at the start, {document['started'][:16].replace('T', ' ')}")


def plain_table(table, coloured=False):
    """Columns aligned right, the first one left."""
    cells = [table.header] + table.rows
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.header))]
    lines = [table.title] if table.title else []
    for number, row in enumerate(cells):
        shown = [cell.ljust(width) if column == 0 else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        if coloured:
            shown = [_marked(text, table.marks.get((number - 1, column)))
                     for column, text in enumerate(shown)]
        lines.append("  ".join(shown).rstrip())
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _marked(text, mark):
    return f"{_ESCAPES[mark]}{text}\x1b[0m" if mark else text
