# SPDX-License-Identifier: GPL-2.0-only
"""mysqld_exporter and a real Prometheus with the rules of tools/monitoring."""
import json
import re
import subprocess
import urllib.parse
import urllib.request

import pytest

from framework import ROOT, free_port
from tools import Tools

pytestmark = pytest.mark.server(options=("--performance-schema=ON",))
_RULES = ROOT / "tools/monitoring/rowan_rules.yml"
_DASHBOARD = ROOT / "tools/monitoring/rowan_dashboard.json"
_CONFIGURATION = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: mysqld
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


class _Running:
    """Programs that end with the test."""

    def __init__(self, tools):
        self._tools, self._processes = tools, []

    def start(self, name, *arguments, log):
        with open(log, "wb") as output:
            self._processes.append(subprocess.Popen(
                self._tools.command(name, *arguments), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=self._tools.environment()))

    def stop(self):
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(60)


def _get(url):
    """What is there, or an empty text while nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=30) as stream:
            return stream.read().decode()
    except OSError:
        return ""


@pytest.fixture
def exporter(t, tmp_path):
    running, port = _Running(Tools(t.server)), free_port()
    access = tmp_path / "exporter.cnf"
    access.write_text(f"[client]\nuser = root\nsocket = {t.server.socket}\n")
    running.start("prometheus-mysqld-exporter", f"--config.my-cnf={access}",
                  f"--web.listen-address=127.0.0.1:{port}", log=tmp_path / "exporter.log")
    t.wait_for(lambda: "mysql_up 1" in _get(f"http://127.0.0.1:{port}/metrics"), "the exporter")
    yield running, port
    running.stop()


def test_the_exporter_exports_each_number(t, exporter):
    status = {name.lower(): value for name, value in t.run("SHOW GLOBAL STATUS LIKE 'Rowan%'")}
    numbers = {name for name, value in status.items() if re.fullmatch(r"[\d.]+", value)}
    text = _get(f"http://127.0.0.1:{exporter[1]}/metrics")
    exported = set(re.findall(r"^mysql_global_status_(rowan_\w+) ", text, re.MULTILINE))
    t.equal(sorted(numbers - exported), [])
    t.true("mysql_global_variables_rowan_redo_log_capacity" in text, "settings")


def test_prometheus_takes_rules_and_queries(t, exporter, tmp_path):
    running, port = exporter
    t.true("SUCCESS" in Tools(t.server).run("promtool", "check", "rules", _RULES), "promtool")
    configuration, own_port = tmp_path / "prometheus.yml", free_port()
    configuration.write_text(_CONFIGURATION.format(rules=_RULES, port=port))
    running.start("prometheus", f"--config.file={configuration}",
                  f"--storage.tsdb.path={tmp_path / 'series'}",
                  f"--web.listen-address=127.0.0.1:{own_port}", log=tmp_path / "prometheus.log")
    t.run("CREATE TABLE measured (id INT PRIMARY KEY AUTO_INCREMENT)")

    def ask(path):
        return json.loads(_get(f"http://127.0.0.1:{own_port}/api/v1/{path}") or "{}")

    def series(query):
        t.run("INSERT INTO measured VALUES ()")
        answer = ask("query?" + urllib.parse.urlencode({"query": query}))
        return answer.get("data", {}).get("result", [])
    t.wait_for(lambda: series("rowan:commit_latency_us:p99_5m > 0"), "a percentile")
    bounds = {one["metric"]["le"] for one in series("rowan:commit_latency_us_bucket")}
    t.true({"127", "8388607", "+Inf"} <= bounds, bounds)
    rules = [rule for group in ask("rules")["data"]["groups"] for rule in group["rules"]]
    t.equal({rule["health"] for rule in rules}, {"ok"}, rules)
    t.equal([rule["name"] for rule in rules if rule.get("state") == "firing"], [])
    _check_dashboard(t, series, f"127.0.0.1:{port}")


def _check_dashboard(t, series, instance):
    """Each line of each panel has something to show."""
    for panel in json.loads(_DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$instance", instance)
            query = query.replace("$__rate_interval", "1m")
            t.wait_for(lambda q=query: series(q), f"{panel['title']}: {query}", limit_s=30)
