# SPDX-License-Identifier: GPL-2.0-only
"""A result as Markdown, for a note or an issue."""
from .tables import (confidence_table, group_table, latency_table, main_table, problems,
                     resource_table, settings_table)
from .text import headline


def markdown(summary):
    document = summary.document
    parts = [f"# scripts/bench {document['command']}", headline(document),
             "```\nscripts/bench " + " ".join([document["command"], *document["arguments"]])
             + "\n```"]
    for name, what, value, other in summary.unequal():
        parts.append(f"**Unequal: {what} of {name} is \"{value}\", of {summary.base} "
                     f"\"{other}\".**")
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
