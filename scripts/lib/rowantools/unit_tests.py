# SPDX-License-Identifier: GPL-2.0-only
"""Runs test programs in parallel and counts single tests.

Two kinds of program: GoogleTest executables (counted from their JSON report) and Python tests that
print one line `PASS name` or `FAIL name: reason` per test. A program that crashes, hangs or prints
no verdict counts as one more failure, so that nothing is lost silently.
"""
import json
import os
import re
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .build import cores
from .progress import Step, format_duration, say


_END_LIMIT_S = 20


@dataclass
class Outcome:
    """Counts of one program or of a whole suite."""
    passed: int = 0
    failed: int = 0
    skipped: list = field(default_factory=list)
    failures: list = field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures


@dataclass
class Program:
    """One executable to run; `kind` is "gtest" or "lines"."""
    name: str
    command: list
    kind: str = "gtest"
    environment: dict = field(default_factory=dict)
    limit_s: float = 300.0


class Suite:
    """A named set of programs; logs go to <log folder>/<suite>/<program>.log."""

    def __init__(self, name, programs, log_folder, workers=0):
        self.name, self.programs = name, programs
        self._logs = Path(log_folder) / name
        self._workers = workers or cores()

    def run(self):
        self._logs.mkdir(parents=True, exist_ok=True)
        total, lock, running = Outcome(), threading.Lock(), []

        def one(program):
            with lock:
                running.append(program.name)
                step.update(detail=" ".join(running))
            outcome = self._run_program(program)
            with lock:
                running.remove(program.name)
                total.add(outcome)
                done[0] += 1
                step.update(done[0], f"{total.passed} passed, {total.failed} failed; "
                            + " ".join(running))
        done = [0]
        with Step(self.name, total=len(self.programs), quiet=True) as step:
            with ThreadPoolExecutor(self._workers) as pool:
                list(pool.map(one, self.programs))
            elapsed = step.elapsed()
        mark = "FAILED" if total.failed else "ok"
        say(f"[{mark}] {self.name}: {total.passed} passed, {total.failed} failed"
            + (f", {len(total.skipped)} skipped" if total.skipped else "")
            + f" ({format_duration(elapsed)})")
        for failure in total.failures:
            say("    " + failure.replace("\n", "\n    "))
        return total

    def _run_program(self, program):
        log = self._logs / f"{program.name}.log"
        report = self._logs / f"{program.name}.json"
        report.unlink(missing_ok=True)
        command = list(program.command)
        if program.kind == "gtest":
            command.append(f"--gtest_output=json:{report}")
        status = _run_limited(command, program, log)
        text = log.read_text(errors="replace")
        outcome = _from_report(report, program) if program.kind == "gtest" and report.exists() \
            else _from_lines(text, program)
        if status is None:
            _fail(outcome, program, f"ran past its limit of {program.limit_s:.0f} s", text, log)
        elif status != 0 and not outcome.failed:
            _fail(outcome, program, _status_text(status), text, log)
        elif status == 0 and not outcome.passed and not outcome.failed and not outcome.skipped:
            _fail(outcome, program, "reported no test at all", text, log)
        return outcome


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


def _fail(outcome, program, reason, text, log):
    outcome.failed += 1
    started = re.findall(r"^\[ RUN      \] (\S+)", text, re.MULTILINE)
    where = f" in {started[-1]}" if started else ""
    tail = "\n".join(text.strip().splitlines()[-12:])
    outcome.failures.append(f"{program.name}{where}: {reason} (log: {log})\n{tail}")


def _from_report(report, program):
    outcome = Outcome()
    for suite in json.loads(report.read_text())["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            if test.get("result") == "SKIPPED":
                outcome.skipped.append(f"{program.name}: {name}")
            elif test.get("failures"):
                outcome.failed += 1
                text = test["failures"][0]["failure"]
                outcome.failures.append(f"{program.name}: {name}\n{text[:700]}")
            elif test.get("status") == "RUN":
                outcome.passed += 1
    return outcome


def _from_lines(text, program):
    """Python tests, and GoogleTest programs that died before they could write a report."""
    outcome = Outcome()
    for line in text.splitlines():
        if re.match(r"PASS |\[       OK \]", line):
            outcome.passed += 1
        elif line.startswith("SKIP "):
            outcome.skipped.append(f"{program.name}: {line[5:]}")
        elif line.startswith("FAIL "):
            outcome.failed += 1
            outcome.failures.append(f"{program.name}: {line[5:]}")
    return outcome
