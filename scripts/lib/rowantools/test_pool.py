# SPDX-License-Identifier: GPL-2.0-only
"""Runs the programs of all suites in one pool, the longest first.

The pool has two slots for each core and one more. A program that computes takes two of them; one
with a server takes one, as it waits most of its time. Those with two go first, beside one with a
server, so that no core is idle and small pieces fill the end.
<logs>/history.json remembers how long each program took and which of its tests failed.
"""
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .build import cores
from .progress import Step, say
from .test_programs import Outcome

# Seconds of the longest on 2 busy cores, for a checkout that has no history.
_SECONDS = {
    "crash/crash-0-16k": 250, "crash/crash-1-4k": 250, "crash/crash-2-16k": 250,
    "crash/crash-3-4k": 250, "mysqld/damage_test": 200, "unit/rowan_simulation_test": 190,
    "mysqld/hostile_test": 170, "mysqld/replication_test": 160, "mysqld/backup_test": 150,
    "unit-small/rowan_simulation_test": 130, "mysqld/data_directory_test": 130,
    "unit/rowan_engine_test": 120, "unit-small/rowan_engine_test": 120, "suites/quick_test": 120,
    "mysqld/shutdown_test": 120, "mysqld/crash_loop_test": 90, "mysqld/in_doubt_test": 80,
    "mysqld/binlog_format_test": 80, "mysqld/xa_test": 70, "unit/rowan_mvcc_test": 60,
    "unit-small/rowan_mvcc_test": 60, "checks/driver_run_test": 60, "mysqld/start_test": 60,
    "mysqld/statistics_test": 60, "mysqld/sysbench_test": 60, "mysqld/fulltext_test": 60,
    "mysqld/partition_test": 50, "mysqld/alter_test": 50, "mysqld/differential_test": 50,
    "mysqld/forced_start_test": 50, "mysqld/rebuild_test": 50}
_SECONDS_OTHERS = 20


def _slots():
    """Fewer where memory is short: a program with servers needs about 1 GiB."""
    with open("/proc/meminfo") as stream:
        available_kib = next(int(line.split()[1]) for line in stream if "MemAvailable" in line)
    return max(2, min(2 * cores() + 1, available_kib >> 20))


class Pool:
    def __init__(self, programs, logs, only_failed=False):
        """only_failed: no tests but those that failed when they last ran."""
        self._logs, self._history_file = Path(logs), Path(logs) / "history.json"
        self._seconds, self._failed = self._read_history()
        self._only = dict(self._failed) if only_failed else {}
        self._waiting = [program for program in programs
                         if not only_failed or program.key in self._only]
        self._waiting.sort(key=lambda program: (-program.slots, -self._expected_s(program)))
        self._lock = threading.Condition()
        self._free, self._running, self._done = _slots(), [], 0
        self._total, self._suites = Outcome(), {}
        for program in self._waiting:
            self._suites.setdefault(program.suite, []).append(program.name)

    def run(self):
        """The Outcome of all."""
        self._logs.mkdir(parents=True, exist_ok=True)
        slots = self._free
        with Step("tests", total=len(self._waiting), quiet=True) as step, \
                ThreadPoolExecutor(slots) as workers:
            self._step, pending = step, []
            while self._waiting:
                with self._lock:
                    program = self._lock.wait_for(lambda: self._first_that_fits(slots))
                    self._waiting.remove(program)
                    taken = min(program.slots, slots)
                    self._free -= taken
                pending.append(workers.submit(self._run, program, taken))
            for future in pending:
                future.result()
        return self._total

    def report_durations(self, count):
        say(f"the longest programs and tests ({count} each):")
        programs = [(seconds, key) for key, seconds in self._seconds.items()]
        for longest in (programs, self._total.durations):
            for seconds, name in sorted(longest, reverse=True)[:count]:
                say(f"{seconds:8.1f} s  {name}")

    def _first_that_fits(self, slots):
        return next((program for program in self._waiting
                     if min(program.slots, slots) <= self._free), None)

    def _run(self, program, taken):
        with self._lock:
            self._running.append(program.name)
            self._show()
        try:
            outcome = program.run(self._logs, self._only.get(program.key, ()))
            with self._lock:
                self._note(program, outcome)
        finally:
            with self._lock:
                self._free += taken
                self._running.remove(program.name)
                self._lock.notify_all()
                self._show()

    def _note(self, program, outcome):
        self._done += 1
        self._total.add(outcome)
        for failure in outcome.failures:
            say("FAILED " + failure.replace("\n", "\n    "))
        if program.key not in self._only:
            self._seconds[program.key] = round(outcome.seconds, 1)
        self._failed.pop(program.key, None)
        if outcome.failed:
            # A program that got lost has failed as a whole.
            self._failed[program.key] = [] if "" in outcome.failed_names else outcome.failed_names
        self._history_file.write_text(json.dumps({"seconds": self._seconds, "failed": self._failed},
                                                 indent=1, sort_keys=True))
        names = self._suites[program.suite]
        names.remove(program.name)
        if not names:
            say(f"{program.suite}: done; {self._counts()} so far")

    def _show(self):
        self._step.update(self._done, f"{self._counts()}; {' '.join(self._running)}")

    def _counts(self):
        return f"{self._total.passed} passed, {self._total.failed} failed"

    def _expected_s(self, program):
        return self._seconds.get(program.key, _SECONDS.get(program.key, _SECONDS_OTHERS))

    def _read_history(self):
        try:
            history = json.loads(self._history_file.read_text())
            return history["seconds"], history["failed"]
        except (OSError, ValueError, KeyError):
            return {}, {}
