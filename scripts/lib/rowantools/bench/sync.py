# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench sync: fsync against fdatasync against the rest, without a server, by rowan-bench:
bare durable writes by kind of file, then commits of the engine by number of threads. The sides are
the methods."""
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..paths import BUILD, UserError
from ..progress import say
from . import machine
from .sync_delay import NOT_DELAYED, SYNC_METHODS, environment
from .targets import Target
from .workload import Case, Workload

# As rowan-bench names them, the most telling first.
_KINDS = (("recycled", "Bare writes into a recycled file, as the redo log has them"),
          ("zero-filled", "Bare writes into a file filled with zeros"),
          ("fallocated", "Bare writes into a fallocated file"),
          ("growing", "Bare writes into a growing file"))
_SHAPES = ("1 x 8 KiB", "2 x 8 KiB", "1 x 16 KiB", "1 x 2 MiB")
_COMMITS = "Commits of the engine, without a server"


@dataclass(frozen=True)
class _Place:
    """One folder and one injected delay."""
    folder: str
    delay_us: int
    title: str   # behind the names of tests; empty where there is but one


class Sync(Workload):
    """`options`: dir (a list), threads, time, delays."""
    columns = ("p10", "p50", "p95", "p99", "max", "commits_per_s", "syncs")
    tools = ("rowan-bench",)

    def __init__(self, session, options):
        super().__init__(session, options)
        self._places = [_Place(str(folder), delay, "".join(
            [f", {machine.place(folder)}" if len(options.dir) > 1 else "",
             f", +{delay} us" if len(options.delays) > 1 or delay else ""]))
            for folder in options.dir for delay in options.delays]

    @staticmethod
    def prepare(options):
        options.dir = options.dir or [BUILD]

    @staticmethod
    def make_targets(options):
        """The sides: one for each way to make a write durable."""
        return [Target(method, "method", "") for method in SYNC_METHODS]

    def groups(self):
        return [(name + place.title, title + place.title) for place in self._places
                for name, title in (*_KINDS, ("commits", _COMMITS))]

    def notes(self):
        if any(self.options.delays):
            yield ("Injected delays do not reach what goes through io_uring: there "
                   f"{', '.join(NOT_DELAYED)} is n/a.")

    def cases(self):
        """They are measured together: rowan-bench goes through them all by itself."""
        found = []
        for place in self._places:
            found += [Case(f"{kind} {shape}{place.title}", kind + place.title, shape, "p50", 0,
                           None) for kind, _ in _KINDS for shape in _SHAPES]
            found += [Case(_threads(count) + place.title, "commits" + place.title, _threads(count),
                           "commits_per_s", 0, None) for count in self.options.threads]
        return found

    def run(self):
        session = self.session
        self.declare(self.cases())
        for target in session.targets:
            session.result.add_target({
                "name": target.name, "kind": "method", "engine": "", "address": "no server",
                "own": True, "observed": False, "version": "rowan-bench", "settings": {},
                "variables": {}})
        session.plan("sync", session.request.rounds * len(self._places) * self._planned_s())
        for number in range(1, session.request.rounds + 1):
            for place in self._places:
                self._bare(place, number)
                self._commits(place, number)

    def _planned_s(self):
        methods, time_s = len(self.session.targets), self.options.time
        return methods * time_s * (len(_KINDS) * len(_SHAPES) + len(self.options.threads))

    def _methods(self, place):
        return [target.name for target in self.session.targets
                if not (place.delay_us and target.name in NOT_DELAYED)]

    def _bare(self, place, number):
        text = _call(place, "sync", ["--seconds", str(self.options.time), "--methods",
                                     ",".join(self._methods(place))])
        for kind, method, figures in parse_bare(text):
            for shape, one in zip(_SHAPES, figures):
                self._add(f"{kind} {shape}{place.title}", method, number, one)
        self.session.advance(self._planned_s() / 2)

    def _commits(self, place, number):
        text = _call(place, "commit", [
            "--seconds", str(self.options.time), "--method", ",".join(self._methods(place)),
            "--threads", ",".join(map(str, self.options.threads))])
        for method, threads, metrics in parse_commits(text):
            self._add(_threads(threads) + place.title, method, number, metrics)
        self.session.advance(self._planned_s() / 2)

    def _add(self, test, method, number, metrics):
        """A method that is not to be had here has no figures and says why."""
        run = {"test": test, "target": method, "round": number, "seconds": self.options.time}
        if isinstance(metrics, str):
            run.update(metrics={}, facts={"not available": metrics})
        else:
            run["metrics"] = metrics
        self.session.result.add_run(run)


def _threads(count):
    return f"{count} thread{'s' if count > 1 else ''}"


def _call(place, command, arguments):
    program = BUILD / "bench" / "rowan-bench"
    Path(place.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=place.folder) as folder:
        result = subprocess.run([str(program), command, "--dir", folder, *arguments],
                                capture_output=True, text=True,
                                env=dict(os.environ, **environment(place.delay_us)))
    if result.returncode != 0:
        raise UserError(f"rowan-bench {command} failed: {result.stderr.strip()[-400:]}")
    say(result.stdout.strip())
    return result.stdout


def parse_bare(text):
    """Yields (kind of file, method, [figures of each shape]); a sentence instead of figures where
    the method is not available."""
    kind = None
    for line in text.splitlines():
        named = re.match(r"(\S+) file:", line)
        if named:
            kind = named.group(1)
        row = re.match(r"(\w+)\s+(\S.*)", line)
        if not kind or not row or row.group(1) not in SYNC_METHODS:
            continue
        cells = row.group(2).split()
        if all(cell.isdigit() for cell in cells):
            numbers = [float(cell) for cell in cells]
            yield kind, row.group(1), [
                {"p10": p10, "p50": p50, "p99": p99, "commits_per_s": rate}
                for p10, p50, p99, rate in zip(*[iter(numbers)] * 4)]
        else:
            yield kind, row.group(1), [row.group(2).strip()[:100]] * len(_SHAPES)


def parse_commits(text):
    """Yields (method, threads, figures)."""
    for line in text.splitlines():
        cells = line.split()
        if len(cells) == 9 and cells[0] in SYNC_METHODS and cells[1].isdigit():
            rate, p50, p95, p99, longest, _, syncs = [float(cell) for cell in cells[2:]]
            yield cells[0], int(cells[1]), {
                "commits_per_s": rate, "p50": p50, "p95": p95, "p99": p99, "max": longest,
                "syncs": syncs}
