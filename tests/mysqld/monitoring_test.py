# SPDX-License-Identifier: GPL-2.0-only
"""What tools/monitoring asks for is there, and the latency of commits as status variables."""
import json
import re

import pytest

from framework import ENGINE, ROOT

pytestmark = pytest.mark.skipif(ENGINE != "ROWAN", reason="about Rowan's status variables")
_FOLDER = ROOT / "tools/monitoring"
_STATUS = re.compile(r"mysql_global_status_(rowan_\w+)")
_VARIABLE = re.compile(r"mysql_global_variables_(rowan_\w+)")
_LATENCY = "rowan_commit_latency_us_"


def _dashboard():
    return json.loads((_FOLDER / "rowan_dashboard.json").read_text())


def _status(t):
    return {name.lower(): value for name, value in t.run("SHOW GLOBAL STATUS LIKE 'Rowan%'")}


def test_dashboard_and_rules_name_numbers_that_exist(t):
    status, variables = _status(t), dict(t.run("SHOW GLOBAL VARIABLES LIKE 'rowan%'"))
    for name in ("rowan_dashboard.json", "rowan_rules.yml"):
        text = (_FOLDER / name).read_text()
        named = set(_STATUS.findall(text)) - {_LATENCY + "le_"}  # of a pattern
        t.true(len(named) >= 10, f"{name} names {named}")
        t.equal(sorted(named - set(status)), [], f"status variables of {name}")
        t.equal(sorted(set(_VARIABLE.findall(text)) - set(variables)), [], f"variables of {name}")
        for figure in named:
            float(status[figure])


def test_the_dashboard_is_laid_out_without_gaps(t):
    panels = _dashboard()["panels"]
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"])
                 for y in range(place["h"])}
        t.true(not cells & taken, f"{panel['title']} lies on another panel")
        taken |= cells
        t.true(panel["targets"] and panel["description"], panel["title"])
    rows = max(y for _, y in taken) + 1
    t.equal(len(taken), 24 * rows, "cells")
    t.equal(len({panel["id"] for panel in panels}), len(panels), "panels with ids of their own")


def test_each_alert_says_whose_and_what(t):
    yaml = pytest.importorskip("yaml", reason="there is no PyYAML (package python3-yaml)")
    groups = yaml.safe_load((_FOLDER / "rowan_rules.yml").read_text())["groups"]
    alerts = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    t.true(len(alerts) >= 10, len(alerts))
    for alert in alerts:
        t.true(alert["labels"]["severity"] in ("warning", "critical"), alert)
        t.true("$labels.instance" in alert["annotations"]["summary"], alert)
    recorded = {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}
    used = set(re.findall(r"rowan:[\w:]+", json.dumps([_dashboard(), alerts])))
    t.equal(sorted(used - recorded), [])


def test_commit_latencies_are_a_histogram(t):
    t.run("CREATE TABLE committed (id INT PRIMARY KEY AUTO_INCREMENT)")
    before = _status(t)
    for _ in range(20):
        t.run("INSERT INTO committed VALUES ()")
    after = _status(t)
    bounds = {int(name.removeprefix(_LATENCY + "le_")): int(value) for name, value in after.items()
              if name.startswith(_LATENCY + "le_") and not name.endswith("inf")}
    t.equal(sorted(bounds), [(1 << power) - 1 for power in range(7, 24)])
    counts = [bounds[bound] for bound in sorted(bounds)]
    t.equal(counts, sorted(counts), "each bound counts what the smaller ones count")
    total = int(after[_LATENCY + "le_inf"])
    t.true(total >= counts[-1] > 0 and total - int(before[_LATENCY + "le_inf"]) >= 20, after)
    t.true(int(after[_LATENCY + "sum"]) > int(before[_LATENCY + "sum"]), "the sum grows")
    shown = t.run("SELECT up_to_us, SUM(count) FROM information_schema.rowan_sync_latency "
                  "WHERE phase = 'commit' GROUP BY up_to_us")
    later = {name: int(value) for name, value in _status(t).items() if name.startswith(_LATENCY)}
    for bound, count in bounds.items():
        seen = sum(int(number) for up_to, number in shown if up_to <= bound)
        t.true(count <= seen <= later[f"{_LATENCY}le_{bound}"], f"{bound}: {count} {seen} {later}")
