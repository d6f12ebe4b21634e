# SPDX-License-Identifier: GPL-2.0-only
"""A result as one HTML page that needs nothing else: no scripts, no links to anywhere, light and
dark as the reader's system is, tables for what the charts show."""
import html
from pathlib import Path

from ..columns import COLUMNS, shown
from .flame import flame_graph
from .svg import clients_chart, legend, ratio_chart, seconds_chart, value_chart
from .tables import (confidence_table, group_table, latency_table, main_table, problems,
                     relative_table, resource_table, settings_table, turned)
from .text import headline
from .words import how_to_read, verdict

_OPEN_TESTS = 3
_STYLE = Path(__file__).with_name("page.css")


def page(summary):
    document = summary.document
    title = f"scripts/bench {document['command']}: {', '.join(summary.targets)}"
    sections = [("summary", "Summary", _summary(summary))]
    sections += [(f"group-{number}", group["title"], _group(summary, group, tests))
                 for number, (group, tests, _) in enumerate(summary.groups())]
    sections += [("flames", "Flame graphs", _flames(summary)),
                 ("tests", "Each test", _tests(summary)),
                 ("latency", "Latency", _plain(latency_table(summary, summary.tests))),
                 ("confidence", "How sure the medians are",
                  _plain(confidence_table(summary, summary.tests))),
                 ("settings", "Settings", _settings(summary)),
                 ("reading", "How to read this", how_to_read(summary))]
    sections = [section for section in sections if section[2]]
    links = "".join(f"<li><a href='#{name}'>{html.escape(heading)}</a></li>"
                    for name, heading, _ in sections)
    body = "".join(f"<section aria-labelledby='{name}'><h2 id='{name}'>{html.escape(heading)}</h2>"
                   f"{content}</section>\n" for name, heading, content in sections)
    return (f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<title>{html.escape(title)}</title>\n<style>\n{_STYLE.read_text()}</style></head>\n"
            f"<body><header><h1>{html.escape(title)}</h1>"
            f"<p class='note'>{html.escape(headline(document))}</p>{_command(document)}"
            f"{_warnings(summary)}<nav aria-label='Sections'><ul>{links}</ul></nav></header>\n"
            f"<main>\n{body}</main></body></html>\n")


def _command(document):
    words = " ".join(["scripts/bench", document["command"], *document["arguments"]])
    return f"<pre>{html.escape(words)}</pre>"


def _warnings(summary):
    lines = [f"Unequal sides: {what} of {name} is “{value}”, of {summary.base} “{other}”."
             for name, what, value, other in summary.unequal()]
    lines += problems(summary)
    if summary.document["state"] != "complete":
        lines.append(summary.notes()[0])
    return "".join(f"<p class='bad'>{html.escape(line)}</p>" for line in lines)


def _summary(summary):
    parts = [f"<p>{html.escape(line)}</p>" for line in verdict(summary)]
    ratios = group_table(summary)
    if ratios.rows:
        parts.append(_table(ratios))
    notes = [note for note in summary.notes() if not note.startswith("This result is partial")]
    parts += [f"<p class='note'>{html.escape(note)}</p>" for note in notes]
    return "".join(parts)


def _group(summary, group, tests):
    """The table of a group with a chart: ratios where there is a base to compare with."""
    counts = [test.clients for test in tests]
    if all(counts) and len(counts) > 1 and counts == sorted(set(counts)):
        return _table(main_table(summary, "", tests)) + _by_clients(summary, group, tests, counts)
    lower = summary.lower_is_better(tests[0])
    compared = any(side.ratio for test in tests for side in test.sides[1:])
    if compared and not lower:
        chart = ratio_chart(f"{group['title']}: ratio to {summary.base}", [
            (test.title, [(number, side.ratio, side.certain)
                            for number, side in enumerate(test.sides[1:], 1)]) for test in tests])
        key = legend(summary.targets[1:], first=1) if len(summary.targets) > 2 else ""
        key += (f"<p class='note'>Ratio to {html.escape(summary.base)}: bars to the right are "
                "more; pale bars with ~ may be chance.</p>")
    else:
        main = tests[0].main
        chart = value_chart(f"{group['title']}: {COLUMNS[main].title}", [
            (test.title, [(number, side.median.value if side.median else None, True)
                            for number, side in enumerate(test.sides)]) for test in tests],
                            lambda value: shown(main, value))
        better = "shorter is better" if lower else "longer is better"
        key = legend(summary.targets) + (f"<p class='note'>{html.escape(COLUMNS[main].meaning)}; "
                                         f"{better}.</p>")
    return _table(main_table(summary, "", tests)) + key + f"<div class='scroll'>{chart}</div>"


def _by_clients(summary, group, tests, counts):
    """A chart of the main metric and, where there is one, of the rate for each core."""
    parts = []
    for name in (tests[0].main, "per_core"):
        chart = clients_chart(f"{group['title']}: {COLUMNS[name].title}", counts, [
            (number, [test.side(target).metrics.get(name) for test in tests])
            for number, target in enumerate(summary.targets)], lambda value, name=name:
                shown(name, value))
        if chart:
            parts.append(f"<h3>{html.escape(COLUMNS[name].title)}</h3>{legend(summary.targets)}"
                         f"<p class='note'>{html.escape(COLUMNS[name].meaning)}</p>"
                         f"<div class='scroll'>{chart}</div>")
    return "".join(parts)


_COUNTED = {"computing": ("samples", "Where threads compute"),
            "waiting": ("microseconds", "Where sessions wait within statements"),
            "instructions": ("instructions", "Instructions of one statement")}


def _flames(summary):
    """A picture for each test, side and kind of stacks: of the last run."""
    parts = []
    for test in summary.tests:
        for side in test.sides:
            for kind, stacks in side.stacks.items():
                unit, title = _COUNTED.get(kind, (kind, kind))
                title = f"{test.title} on {side.target}: {title[0].lower()}{title[1:]}"
                picture = flame_graph(title, stacks, unit)
                if picture:
                    parts.append(f"<h3>{html.escape(title)}</h3><div class='scroll' role='region' "
                                 f"tabindex='0' aria-label=\"{html.escape(title, True)}\">"
                                 f"{picture}</div>")
    if not parts:
        return ""
    return ("<p class='legend note'>"
            "<span><svg width='12' height='12' aria-hidden='true' class='flame'><rect width='12' "
            "height='12' class='s1'/></svg>Rowan</span><span><svg width='12' height='12' "
            "aria-hidden='true' class='flame'><rect width='12' height='12' class='s0'/></svg>"
            "server, libraries, other engines</span><span><svg width='12' height='12' "
            "aria-hidden='true' class='flame'><rect width='12' height='12' class='s5'/></svg>"
            "kernel</span> A frame is as wide as what was counted in it and in all it called; rest "
            "the pointer on it for its name and share.</p>") + "".join(parts)


def _tests(summary):
    """Each in a part of its own, which is open where they are few."""
    parts, is_open = [], " open" if len(summary.tests) <= _OPEN_TESTS else ""
    for test in summary.tests:
        content = _table(turned(resource_table(summary, test)))
        relative = relative_table(summary, test)
        if relative.rows and len(relative.header) > 1:
            content += (f"<h3>Relative to {html.escape(summary.base)}</h3>"
                        + _table(turned(relative)))
        content += _facts(test)
        chart = seconds_chart(f"{test.name}: rate of each second", [
            (number, side.by_second) for number, side in enumerate(test.sides)])
        if chart:
            content += "<h3>Each second</h3>" + legend(summary.targets) + chart
        parts.append(f"<details{is_open}><summary>{html.escape(test.name)}</summary>"
                     f"<div>{content}</div></details>")
    return "".join(parts)


def _facts(test):
    """What a workload tells beside figures: plans, geek codes, errors tried again."""
    lines = []
    for side in test.sides:
        lines += [f"{side.target}: {name}: {value}" for name, value in side.facts.items()]
        lines += [f"{side.target}: tried again after error {code}: {count}"
                  for code, count in side.retries.items()]
    return f"<pre>{html.escape(chr(10).join(lines))}</pre>" if lines else ""


def _settings(summary):
    parts = [_table(settings_table(summary))]
    for target in summary.document["targets"]:
        rows = "".join(f"<tr><th scope='row'>{html.escape(name)}</th><td>{html.escape(str(value))}"
                       "</td></tr>" for name, value in target["variables"].items())
        if rows:
            parts.append(f"<details><summary>Variables of {html.escape(target['name'])}</summary>"
                         f"<div class='scroll'><table><tbody>{rows}</tbody></table></div>"
                         "</details>")
    return "".join(parts)


def _plain(table):
    return _table(table) if table.rows else ""


def _table(table):
    head = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in table.header)
    lines = []
    for number, row in enumerate(table.rows):
        cells = [_cell(cell, table.marks.get((number, column)), column)
                 for column, cell in enumerate(row)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    label = html.escape(table.title or "Figures", quote=True)
    return (f"<div class='scroll' role='region' tabindex='0' aria-label=\"{label}\"><table>"
            f"{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>")


def _cell(text, mark, column):
    kind = f" class='{mark}'" if mark else ""
    if column == 0:
        return f"<th scope='row'{kind}>{html.escape(text)}</th>"
    return f"<td{kind}>{html.escape(text)}</td>"
