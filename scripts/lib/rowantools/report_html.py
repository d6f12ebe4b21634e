# SPDX-License-Identifier: GPL-2.0-only
"""The demo's results as one self-contained HTML page: inline SVG charts, no scripts, no links."""
import html
import time

_COLOURS = {"rowan": "#c8452d", "innodb": "#3b6ea5", "raw": "#8a8f98", "round trip": "#c9ccd1"}
_TITLES = {"rowan": "Rowan", "innodb": "InnoDB"}
_WIDTH, _LABEL_WIDTH, _VALUE_WIDTH = 860, 230, 110
_BAR, _GAP = 15, 14

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22262b; background: #fff;
       max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid #e3e5e8; }
th:first-child, td:first-child { text-align: left; }
th { font-weight: 600; } .note { color: #646a73; } .bad { color: #b3261e; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #22262b; }
"""


def write_page(path, results, engines):
    parts = ["<!doctype html><html lang='en'><head><meta charset='utf-8'>",
             "<meta name='viewport' content='width=device-width, initial-scale=1'>",
             f"<title>Rowan and InnoDB</title><style>{_STYLE}</style></head><body>",
             "<h1>Rowan and InnoDB, side by side in one MySQL server</h1>", _conditions(results)]
    if results["workloads"]:
        parts += _workload_part(results["workloads"], engines)
    if results["commit_latency"]:
        parts += _latency_part(results["commit_latency"])
    if results.get("problems"):
        parts.append("<h2>What failed</h2><ul class='bad'>")
        parts += [f"<li>{html.escape(problem)}</li>" for problem in results["problems"]]
        parts.append("</ul>")
    parts += _variables(results["settings"]["variables"])
    parts.append("</body></html>\n")
    path.write_text("\n".join(parts))


def _conditions(results):
    settings, machine = results["settings"], results["machine"]
    facts = [f"MySQL {settings['mysql']}", f"{machine['cores']} cores ({machine['cpu']})",
             f"{settings['threads']} client threads", f"{settings['table_size']:,} rows",
             f"buffer pool {settings['buffer_pool']} for each engine",
             f"binlog {settings['binlog']}", "durable commits and doublewrite on for both",
             f"{settings['rounds']} alternating rounds of {settings['time_s']} s, medians",
             time.strftime("%Y-%m-%d %H:%M")]
    return f"<p class='note'>{html.escape('; '.join(facts))}</p>"


# --- workloads ---

def _workload_part(workloads, engines):
    parts = ["<h2>Throughput</h2>", "<p class='note'>Statements per second (bulk_insert: rows per "
             "second), each workload scaled to its faster engine; longer is better.</p>",
             _paired_chart(workloads, engines, "qps", "{:,.0f}")]
    parts += ["<h2>CPU per statement</h2>", "<p class='note'>Microseconds of mysqld's user and "
              "system time per statement (bulk_insert: per row), scaled likewise; shorter is "
              "better.</p>", _paired_chart(workloads, engines, "cpu_us", "{:,.1f} µs")]
    parts += ["<h2>All figures</h2>", _workload_table(workloads, engines)]
    return parts


def _paired_chart(workloads, engines, key, form):
    """Groups of bars, one bar per engine; each group has its own scale."""
    rows, y = [], 6
    for workload in workloads:
        values = {engine: workload["engines"][engine][key] for engine in engines
                  if engine in workload["engines"]}
        top = max(values.values(), default=1) or 1
        rows.append(_text(0, y + _BAR * len(engines) / 2 + 4, workload["name"]))
        for engine in engines:
            label = form.format(values[engine]) if engine in values else "failed"
            rows.append(_bar(y, values.get(engine, 0) / top, _COLOURS[engine], label))
            y += _BAR + 1
        y += _GAP
    return _legend(engines) + _svg(rows, y)


def _workload_table(workloads, engines):
    head = ["workload"] + [f"{_TITLES[engine]} {what}" for what in ("QPS", "p95 ms", "CPU µs")
                           for engine in engines]
    both = len(engines) == 2
    lines = []
    for workload in workloads:
        cells = [workload["name"]]
        for key, form in (("qps", "{:,.0f}"), ("p95_ms", "{:.2f}"), ("cpu_us", "{:,.1f}")):
            for engine in engines:
                figures = workload["engines"].get(engine)
                cells.append(form.format(figures[key]) if figures else "failed")
        if both:
            cells.append(f"{workload['ratio']:.2f}" if "ratio" in workload else "-")
        lines.append(cells)
    return _table(head + (["QPS ratio"] if both else []), lines)


# --- commit latency ---

def _latency_part(rows):
    parts = ["<h2>Latency of a durable commit</h2>", "<p class='note'>One client, one single-row "
             "update per commit, in microseconds: the dark bar ends at the median, the light one "
             "at the 99th percentile. Bare writes are 4 KiB into a file written through already, "
             "on the same disk.</p>", _latency_chart(rows)]
    lines = []
    for row in rows:
        figures = row["figures"]
        keys = ("count", "mean_us", "p50_us", "p95_us", "p99_us", "cpu_us")
        title = row["title"] + (f": {row['problem']}" if row["problem"] else "")
        lines.append([title] + [
            "-" if not figures or figures[key] is None else f"{figures[key]:,.0f}" for key in keys])
    parts.append(_table(["", "commits", "mean", "p50", "p95", "p99", "mysqld CPU"], lines))
    return parts


def _latency_chart(rows):
    measured = [row for row in rows if row["figures"]]
    # A single outlier must not squeeze everything else: the scale ends at 4 medians.
    top = max((min(row["figures"]["p99_us"], 4 * row["figures"]["p50_us"]) for row in measured),
              default=1)
    drawn, y = [], 6
    for row in measured:
        figures = row["figures"]
        colour = _COLOURS[row["engine"] or row["kind"]]
        label = f"{figures['p50_us']:,.0f} / {figures['p99_us']:,.0f} µs"
        drawn.append(_text(0, y + 12, row["title"]))
        drawn.append(_bar(y, min(1, figures["p99_us"] / top), colour, label, 0.35))
        drawn.append(_bar(y, min(1, figures["p50_us"] / top), colour, ""))
        y += _BAR + 8
    return _svg(drawn, y)


# --- pieces ---

def _variables(variables):
    rows = [[name, value] for name, value in sorted(variables.items())]
    return ["<h2>Settings</h2>", _table(["variable", "value"], rows)]


def _table(head, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) \
            + "</tr>"
    return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"


def _text(x, y, text):
    return f"<text x='{x}' y='{y:.0f}'>{html.escape(text)}</text>"


def _bar(y, share, colour, label, opacity=1.0):
    width = max(1.0, share * (_WIDTH - _LABEL_WIDTH - _VALUE_WIDTH))
    rectangle = (f"<rect x='{_LABEL_WIDTH}' y='{y}' width='{width:.1f}' height='{_BAR}' rx='2' "
                 f"fill='{colour}' fill-opacity='{opacity}'/>")
    return rectangle + (_text(_LABEL_WIDTH + width + 6, y + 12, label) if label else "")


def _legend(engines):
    marks = "".join(f"<span style='color:{_COLOURS[engine]}'>&#9632;</span> "
                    f"{_TITLES[engine]} &ensp;" for engine in engines)
    return f"<p>{marks}</p>"


def _svg(parts, height):
    return (f"<svg viewBox='0 0 {_WIDTH} {height}' role='img' "
            f"xmlns='http://www.w3.org/2000/svg'>{''.join(parts)}</svg>")
