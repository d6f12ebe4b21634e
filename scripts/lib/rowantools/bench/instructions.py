# SPDX-License-Identifier: GPL-2.0-only
"""User instructions of a server during a run, by perf: they repeat to a tenth of a percent where
rates on a shared machine are noise."""
import re
import shutil
import signal
import subprocess

_EVENT = "instructions:u"


class Instructions:
    """Counts those of one process: `with Instructions(pid) as counted: ...; counted.per(queries)`.
    Without a process, without perf and where the machine counts none, there is no figure."""

    def __init__(self, pid):
        self._pid, self._process = pid, None
        self.count = None

    def __enter__(self):
        if self._pid and available():
            self._process = subprocess.Popen(
                ["perf", "stat", "-x", ",", "-e", _EVENT, "-p", str(self._pid)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True, start_new_session=True)
        return self

    def __exit__(self, *ignored):
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        found = re.search(rf"^(\d+),.*{_EVENT}", self._process.communicate()[1], re.MULTILINE)
        self.count = int(found.group(1)) if found else None

    def per(self, operations):
        return None if self.count is None or not operations else self.count / operations


def available():
    """Whether perf counts instructions here."""
    return not why_not()


def why_not():
    """What hinders perf, in a sentence; nothing where it counts."""
    if not shutil.which("perf"):
        return "perf is missing: apt-get install linux-perf."
    probe = subprocess.run(["perf", "stat", "-x", ",", "-e", _EVENT, "true"], capture_output=True,
                           text=True)
    if re.search(rf"^\d+,.*{_EVENT}", probe.stderr, re.MULTILINE):
        return ""
    return "This machine gives perf no counters."
