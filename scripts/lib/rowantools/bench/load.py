# SPDX-License-Identifier: GPL-2.0-only
"""Load by sysbench with our own Lua: starts it, follows its seconds, reads its report.

With a rate sysbench plans the starts itself and counts a latency from the planned one, so that a
stall shows in every event that had to wait for it (no coordinated omission)."""
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from ..mysql_tree import PRIVATE_PREFIX, PRIVATE_TOOLS, find_tree
from ..paths import ROOT, UserError
from ..sysbench import client_environment
from .histogram import Latencies, of_sysbench

SCRIPTS = ROOT / "bench" / "sysbench"
RETRIED = {"mysql": "1213,1205,1020,3572", "postgres": ""}
_LIMIT_BEYOND_TIME_S = 600
_LINE_MAX = 300
_SECOND = re.compile(r"^\[ \d+s \] thds: \d+ tps: ([\d.]+) qps: ([\d.]+) .*?"
                     r"lat \(ms,\d+%\): ([\d.]+)")
_FILLED = re.compile(r"^filled (\d+)$")


@dataclass
class LoadReport:
    """What one sysbench did. Without a report (no event ended) the counts are zero."""
    events: int = 0
    queries: int = 0
    seconds: float = 0.0
    latencies: Latencies = field(default_factory=Latencies)
    longest_us: float = None
    retries: dict = field(default_factory=dict)      # error number: count
    events_by_second: list = field(default_factory=list)
    queries_by_second: list = field(default_factory=list)
    p99_ms_by_second: list = field(default_factory=list)
    client_cpu_s: float = 0.0
    deleted: int = 0                 # rows, as the insert benchmark's deletes tell
    counted: dict = field(default_factory=dict)      # what else a script counts: its name, how many


def clients(count):
    """1 client, 4 clients"""
    return f"{count} client{'s' if count > 1 else ''}"


def program():
    """sysbench: the private one or the machine's."""
    for folder in (PRIVATE_PREFIX, PRIVATE_TOOLS):
        if (folder / "usr/bin/sysbench").is_file():
            return folder / "usr/bin/sysbench"
    found = shutil.which("sysbench")
    return Path(found) if found else find_tree().program("sysbench")


class Load:
    """One sysbench process: `start`, then `finish`; or `run` for both."""

    def __init__(self, target, script, options, command="run"):
        self._target, self._script, self._command = target, script, command
        self._options = dict(options)
        self._process = None
        self._lines = []

    def start(self):
        path = program()
        arguments = [str(path), str(SCRIPTS / self._script), *self._target.sysbench_arguments(),
                     *[f"--{name.replace('_', '-')}={value}"
                       for name, value in self._options.items()]]
        if self._command == "run":
            arguments += ["--report-interval=1", "--histogram=on", "--percentile=99"]
        if self._target.protocol == "mysql":
            arguments.append(f"--mysql-ignore-errors={RETRIED['mysql']}")
        environment = dict(os.environ, LUA_PATH=f"{SCRIPTS}/?.lua;;", **client_environment(path))
        self._process = subprocess.Popen([*arguments, self._command], env=environment, text=True,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, start_new_session=True)
        return self

    def finish(self, each_second=None):
        """The report. `each_second(queries a second)` is called as they are told; while tables are
        filled, `each_second(rows by now)`."""
        filled = 0
        deadline = time.monotonic() + float(self._options.get("time", 0)) + _LIMIT_BEYOND_TIME_S
        try:
            for line in self._process.stdout:
                self._lines.append(line)
                found = _SECOND.match(line)
                if found and each_second:
                    each_second(float(found.group(2)))
                rows = _FILLED.match(line)
                if rows and each_second:
                    filled += int(rows.group(1))
                    each_second(filled)
                if time.monotonic() > deadline:
                    raise UserError(f"sysbench {self._script} on {self._target.name} hangs")
            _, status, usage = os.wait4(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            self.stop()
        text = "".join(self._lines)
        if self._process.returncode != 0:
            what = " ".join(filter(None, [self._script, self._options.get("kind")]))
            raise UserError(f"sysbench {what} on {self._target.name} failed: {reason(text)}")
        report = parse(text)
        report.client_cpu_s = usage.ru_utime + usage.ru_stime
        return report

    def run(self, each_second=None):
        return self.start().finish(each_second)

    def stop(self):
        """Ends the process where it still runs."""
        if self._process and self._process.returncode is None:
            self._process.kill()
            self._process.wait()


def parse(text):
    """The LoadReport of what sysbench printed."""
    def number(pattern, default=0.0):
        found = re.search(pattern, text)
        return float(found.group(1)) if found else default
    report = LoadReport(events=int(number(r"total number of events:\s+(\d+)")),
                        queries=int(number(r"queries:\s+(\d+)\s+\(")),
                        seconds=number(r"total time:\s+([\d.]+)s"))
    report.latencies = of_sysbench(text)
    longest = number(r"Latency \(ms\):[\s\S]*?max:\s+([\d.]+)", None)
    report.longest_us = None if longest is None else longest * 1000
    for code, count in re.findall(r"^retried (\S+) (\d+)$", text, re.MULTILINE):
        report.retries[code] = report.retries.get(code, 0) + int(count)
    for name, count in re.findall(r"^counted (\S+) (\d+)$", text, re.MULTILINE):
        report.counted[name] = report.counted.get(name, 0) + int(count)
    report.deleted = sum(int(count) for count in re.findall(r"^deleted (\d+)$", text, re.MULTILINE))
    for events, queries, p99 in _SECOND_LINES.findall(text):
        report.events_by_second.append(float(events))
        report.queries_by_second.append(float(queries))
        report.p99_ms_by_second.append(float(p99))
    return report


_OWN_LINE = re.compile(r"(counted|retried) \S+ \d+$|(deleted|filled) \d+$")
_SECOND_LINES = re.compile(_SECOND.pattern, re.MULTILINE)


def reason(text):
    lines = [line for line in text.splitlines() if not _OWN_LINE.match(line)]
    # The first one says what failed, the second one why; then other threads say the same. The
    # statement in it may have half a megabyte.
    fatal = [line.strip()[:_LINE_MAX] for line in dict.fromkeys(lines) if "FATAL" in line]
    return (" ".join(fatal[:2]) if fatal else "\n".join(lines).strip()[-300:]).strip()
