# SPDX-License-Identifier: GPL-2.0-only
"""The two tables of the demo as plain text."""


def _table(header, rows):
    """Columns aligned right, the first one left."""
    cells = [header] + rows
    widths = [max(len(str(row[column])) for row in cells) for column in range(len(header))]
    lines = []
    for number, row in enumerate(cells):
        lines.append("  ".join(str(cell).ljust(width) if column == 0 else str(cell).rjust(width)
                               for column, (cell, width) in enumerate(zip(row, widths))))
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _number(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}"


def workload_table(workloads, engines):
    """workloads: [{"name", "engines": {engine: figures}, "ratio", "problems": {...}}]."""
    titles = {"rowan": "Rowan", "innodb": "InnoDB"}
    header = ["workload"]
    for title, _ in (("QPS", 0), ("p95 ms", 0), ("CPU us/query", 0)):
        header += [f"{titles.get(engine, engine)} {title}" for engine in engines]
    if len(engines) == 2:
        header.append("QPS ratio")
    rows = []
    for workload in workloads:
        figures = [workload["engines"].get(engine) for engine in engines]
        row = [workload["name"]]
        row += [_number(f and f["qps"]) if f else "failed" for f in figures]
        row += [_number(f and f["p95_ms"], 2) for f in figures]
        row += [_number(f and f["cpu_us"], 1) for f in figures]
        if len(engines) == 2:
            row.append(_number(workload.get("ratio"), 2))
        rows.append(row)
    return _table(header, rows)


def latency_table(rows):
    header = ["one client, one durable update per commit", "commits", "mean us", "p50 us",
              "p95 us", "p99 us", "CPU us"]
    lines = []
    for row in rows:
        figures = row["figures"]
        if not figures:
            lines.append([f"{row['title']}: {row['problem']}", "-", "-", "-", "-", "-", "-"])
            continue
        lines.append([row["title"], _number(figures["count"])]
                     + [_number(figures[key]) for key in ("mean_us", "p50_us", "p95_us", "p99_us",
                                                          "cpu_us")])
    return _table(header, lines)
