# SPDX-License-Identifier: GPL-2.0-only
"""A result as Markdown, for a note or an issue."""
from .tables import (confidence_table, group_table, latency_table, main_table, problems,
                     resource_table, settings_table)
from .text import headline


_GROUP_MAX = 20       # tests: of more only the ratios are figures
_EACH_TEST_MAX = 3   # of those with all columns among the figures


def figures(summary):
    """The tables of a reference run, as docs/figures has them: what was measured, all columns where
    tests are few, and what failed."""
    parts = [f"## {summary.document['command']}", *_opening(summary)]
    for group, tests, _ in summary.groups():
        if len(tests) <= _GROUP_MAX:
            parts += [f"{group['title']}:", _table(main_table(summary, "", tests))]
    ratios = group_table(summary)
    if len(summary.tests) > _GROUP_MAX and ratios.rows:
        parts += ["Ratios:", _table(ratios)]
    if len(summary.tests) <= _EACH_TEST_MAX:
        parts += [f"{test.name}:\n\n" + _table(resource_table(summary, test))
                  for test in summary.tests]
    parts += [f"- {_escaped(problem)}" for problem in problems(summary)]
    return "\n\n".join(parts) + "\n"


def _opening(summary):
    document = summary.document
    return [headline(document) + ".",
            "```\nscripts/bench " + " ".join([document["command"], *document["arguments"]])
            + "\n```",
            *[f"**Unequal: {what} of {name} is \"{value}\", of {summary.base} \"{other}\".**"
              for name, what, value, other in summary.unequal()]]


def markdown(summary):
    parts = [f"# scripts/bench {summary.document['command']}", *_opening(summary)]
    for group, tests, _ in summary.groups():
        parts += [f"## {group['title']}", _table(main_table(summary, "", tests))]
    ratios = group_table(summary)
    if ratios.rows:
        parts += [f"## {ratios.title}", _table(ratios)]
    parts += ["## Each test"]
    parts += [f"{test.name}:\n\n" + _table(resource_table(summary, test))
              for test in summary.tests]
    for table in (latency_table(summary, summary.tests),
                  confidence_table(summary, summary.tests), settings_table(summary)):
        if table.rows:
            parts += [f"## {table.title}", _table(table)]
    remarks = problems(summary) + summary.notes()
    if remarks:
        parts += ["## Notes", "\n".join(f"- {_escaped(remark)}" for remark in remarks)]
    return "\n\n".join(parts) + "\n"


def _table(table):
    lines = [table.header, ["---"] + ["---:"] * (len(table.header) - 1), *table.rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def _escaped(text):
    return text.replace("|", "\\|").replace("\n", " ")
