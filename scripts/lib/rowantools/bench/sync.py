# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench sync: fsync against fdatasync against the rest, without a server, by rowan-bench:
bare durable writes by kind of file, then commits of the engine by number of threads. The sides are
the methods."""
import os
import re
import subprocess
from dataclasses import dataclass

from ..paths import BUILD, UserError
from ..progress import say
from .sync_delay import NOT_DELAYED, SYNC_METHODS, environment
from .targets import Target

COLUMNS = ("p10", "p50", "p95", "p99", "max", "commits_per_s", "syncs")
# As rowan-bench names them, the most telling first.
_KINDS = (("recycled", "Bare writes into a recycled file, as the redo log has them"),
          ("zero-filled", "Bare writes into a file filled with zeros"),
          ("fallocated", "Bare writes into a fallocated file"),
          ("growing", "Bare writes into a growing file"))
_SHAPES = ("1 x 8 KiB", "2 x 8 KiB", "1 x 16 KiB", "1 x 2 MiB")
_COMMITS = "Commits of the engine, without a server"


def method_targets():
    """The sides: one for each way to make a write durable."""
    return [Target(method, "method", "") for method in SYNC_METHODS]


@dataclass(frozen=True)
class _Place:
    """One folder and one injected delay."""
    folder: str
    delay_us: int
    title: str   # behind the names of tests; empty where there is but one


class Sync:
    """`options`: folders, threads, time, delays."""

    def __init__(self, session, options):
        self._session, self._options = session, options

    def run(self):
        session = self._session
        for target in session.targets:
            session.result.add_target({
                "name": target.name, "kind": "method", "engine": "", "address": "no server",
                "own": True, "observed": False, "version": "rowan-bench", "settings": {},
                "variables": {}})
        places = self._places()
        for place in places:
            self._add_tests(place)
        session.result.set_columns(COLUMNS)
        if any(place.delay_us for place in places):
            session.result.note("Injected delays do not reach what goes through io_uring: there "
                                f"{', '.join(NOT_DELAYED)} is n/a.")
        turns = session.request.rounds * len(places)
        session.plan("sync", turns * self._planned_s())
        for number in range(1, session.request.rounds + 1):
            for place in places:
                self._bare(place, number)
                self._commits(place, number)

    def _places(self):
        options = self._options
        several = len(options.folders) > 1
        return [_Place(folder, delay, "".join(
            [f", {folder}" if several else "",
             f", +{delay} us" if len(options.delays) > 1 or delay else ""]))
            for folder in options.folders for delay in options.delays]

    def _add_tests(self, place):
        result = self._session.result
        for kind, title in _KINDS:
            result.add_group(kind + place.title, title + place.title)
            for shape in _SHAPES:
                result.add_test(f"{kind} {shape}{place.title}", kind + place.title, shape, "p50")
        result.add_group("commits" + place.title, _COMMITS + place.title)
        for threads in self._options.threads:
            result.add_test(_threads(threads) + place.title, "commits" + place.title,
                            _threads(threads), "commits_per_s")

    def _planned_s(self):
        methods, time_s = len(self._session.targets), self._options.time
        return methods * time_s * (len(_KINDS) * len(_SHAPES) + len(self._options.threads))

    def _methods(self, place):
        return [target.name for target in self._session.targets
                if not (place.delay_us and target.name in NOT_DELAYED)]

    def _bare(self, place, number):
        text = _call(place, "sync", ["--seconds", str(self._options.time), "--methods",
                                     ",".join(self._methods(place))])
        for kind, method, figures in parse_bare(text):
            for shape, one in zip(_SHAPES, figures):
                self._add(f"{kind} {shape}{place.title}", method, number, one)
        self._session.advance(self._planned_s() / 2)

    def _commits(self, place, number):
        text = _call(place, "commit", [
            "--seconds", str(self._options.time), "--method", ",".join(self._methods(place)),
            "--threads", ",".join(map(str, self._options.threads))])
        for method, threads, metrics in parse_commits(text):
            self._add(_threads(threads) + place.title, method, number, metrics)
        self._session.advance(self._planned_s() / 2)

    def _add(self, test, method, number, metrics):
        """A method that is not to be had here has no figures and says why."""
        run = {"test": test, "target": method, "round": number, "seconds": self._options.time}
        if isinstance(metrics, str):
            run.update(metrics={}, facts={"not available": metrics})
        else:
            run["metrics"] = metrics
        self._session.result.add_run(run)


def _threads(count):
    return f"{count} thread{'s' if count > 1 else ''}"


def _call(place, command, arguments):
    program = BUILD / "bench" / "rowan-bench"
    result = subprocess.run([str(program), command, "--dir", place.folder, *arguments],
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
