# SPDX-License-Identifier: GPL-2.0-only
"""One program of tests: runs it under a limit and counts its single tests.

Kinds: "gtest" and "pytest" are counted from the reports they write, "lines" from one line per test,
`PASS name`, `SKIP name: reason` or `FAIL name: reason`. A program that crashes, hangs or reports
nothing counts as one more failure, so that nothing is lost silently.
"""
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree
from dataclasses import dataclass, field

_END_LIMIT_S = 20
_TEXT_CHARACTERS = 1500


@dataclass
class Outcome:
    """Counts of one program or of several."""
    passed: int = 0
    failed: int = 0
    skipped: list = field(default_factory=list)
    failures: list = field(default_factory=list)
    failed_names: list = field(default_factory=list)  # "" stands for the whole program
    seconds: float = 0.0
    durations: list = field(default_factory=list)  # (seconds, test)

    def add(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def fail(self, name, text):
        self.failed += 1
        self.failed_names.append(name)
        self.failures.append(text)


@dataclass
class Program:
    """One executable to run. `slots`: its share of the machine (test_pool.py)."""
    suite: str
    name: str
    command: list
    kind: str = "gtest"
    environment: dict = field(default_factory=dict)
    limit_s: float = 300.0
    slots: int = 2

    @property
    def key(self):
        return f"{self.suite}/{self.name}"

    def run(self, logs, only=()):
        """Runs all of its tests or `only` those; the log goes to <logs>/<suite>/<name>.log."""
        log, report = logs / f"{self.key}.log", logs / f"{self.key}.report"
        log.parent.mkdir(parents=True, exist_ok=True)
        report.unlink(missing_ok=True)
        start = time.monotonic()
        status = _run_limited(self._command(report, only), self, log)
        text = log.read_text(errors="replace")
        outcome = self._from_report(report) if report.exists() else self._from_lines(text)
        outcome.seconds = time.monotonic() - start
        if status is None:
            self._lost(outcome, f"ran past its limit of {self.limit_s:.0f} s", text, log)
        elif status != 0 and not outcome.failed:
            self._lost(outcome, _status_text(status), text, log)
        elif not outcome.passed and not outcome.failed and not outcome.skipped:
            self._lost(outcome, "reported no test at all", text, log)
        return outcome

    def _command(self, report, only):
        if self.kind == "gtest":
            chosen = [f"--gtest_filter={':'.join(only)}"] if only else []
            return [*self.command, f"--gtest_output=xml:{report}", *chosen]
        if self.kind == "pytest":
            path = self.command[0]
            return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
                    f"--junitxml={report}", *([f"{path}::{name}" for name in only] or [path])]
        return self.command

    def _from_report(self, report):
        """GoogleTest and pytest write the same form."""
        outcome = Outcome()
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            name, skipped = case.get("name"), case.find("skipped")
            if not name or case.get("status") == "notrun":
                continue
            if self.kind == "gtest":
                name = f"{case.get('classname')}.{name}"
            wrong = [child for child in case if child.tag in ("failure", "error")]
            outcome.durations.append((float(case.get("time", 0)), f"{self.key} {name}"))
            if wrong:
                text = wrong[0].text or wrong[0].get("message")
                outcome.fail(name, f"{self.name}: {name}\n{text[-_TEXT_CHARACTERS:]}")
            elif skipped is not None:
                reason = " ".join(skipped.get("message", "").split())
                outcome.skipped.append(f"{self.name}: {name}: {reason}")
            else:
                outcome.passed += 1
        return outcome

    def _from_lines(self, text):
        """Also of GoogleTest programs that died before they could write a report."""
        outcome = Outcome()
        for line in text.splitlines():
            if re.match(r"PASS |\[       OK \]", line):
                outcome.passed += 1
            elif line.startswith("SKIP "):
                outcome.skipped.append(f"{self.name}: {line[5:]}")
            elif line.startswith("FAIL "):
                outcome.fail("", f"{self.name}: {line[5:]}")
        return outcome

    def _lost(self, outcome, reason, text, log):
        started = re.findall(r"^(?:\[ RUN      \] |\S+_test\.py::)(\S+)", text, re.MULTILINE)
        where = f" in {started[-1]}" if started else ""
        tail = "\n".join(text.strip().splitlines()[-12:])
        outcome.fail("", f"{self.name}{where}: {reason} (log: {log})\n{tail}")


def _run_limited(command, program, log):
    """Exit status, or None when it ran past its limit (its whole process group is then killed)."""
    environment = dict(os.environ, **program.environment)
    with open(log, "wb") as output:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, env=environment,
                                       start_new_session=True)
        except OSError as error:
            output.write(f"cannot start: {error}\n".encode())
            return 127
        try:
            return process.wait(program.limit_s)
        except subprocess.TimeoutExpired:
            _ask_to_end(process)
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def _ask_to_end(process):
    """A test that started a server stops it when asked; what does not end in time is killed."""
    process.terminate()
    try:
        process.wait(_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        pass


def _status_text(status):
    if status < 0:
        try:
            return f"ended by signal {signal.Signals(-status).name}"
        except ValueError:
            return f"ended by signal {-status}"
    return f"ended with status {status}"
