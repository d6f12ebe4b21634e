# SPDX-License-Identifier: GPL-2.0-only
"""One measurement from its targets to its result: starts servers, takes turns, keeps every run.

A workload adds groups and tests, then calls `take_turns`; what is interrupted or fails leaves a
result with all runs that ended before."""
import contextlib
import datetime
import itertools
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from ..paths import BUILD, UserError
from ..progress import Step, say
from . import database, settings
from .columns import COLUMNS, shown
from .progress import Progress
from .result import COMPLETE, FAILED, INTERRUPTED, Result, partial_of, reserve
from .servers import Conditions, Servers
from .targets import parse_all

RESULTS = BUILD / "results"
END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SETTLE_S_MAX = 5.0
_SETTLE_CPU_SHARE = 0.05
_LAST_LINES, _PROBLEM_MAX = 5, 800


@dataclass
class Request:
    """What the command line asked for, common to all commands."""
    command: str
    arguments: list
    on: list = field(default_factory=list)
    output: Path = None
    rounds: int = 1
    conditions: Conditions = field(default_factory=Conditions)
    options: dict = field(default_factory=dict)    # as they are recorded


class Session:
    """Used as a context; leaving it stops the servers and closes the result."""

    def __init__(self, request, targets=None):
        self.request = request
        self.targets = parse_all(request.on) if targets is None else targets
        self.result = Result(request.output or default_path(request.command), request.command,
                             request.arguments, request.options)
        self._servers = Servers(request.conditions, self.targets)
        self._progress = None
        self.failed = {}   # (test, target): why, so that it is not tried again

    def __enter__(self):
        try:
            reserve(self.result.path)
            self._servers.__enter__()
        except BaseException:
            self._discard_partial()
            raise
        return self

    def _discard_partial(self):
        with contextlib.suppress(OSError):
            partial_of(self.result.path).unlink()

    def __exit__(self, kind, value, trace):
        with uninterrupted():
            if self._progress:
                self._progress.__exit__(kind, value, trace)
            self._servers.__exit__(kind, value, trace)
            self._discard_partial()
            if self.result.document["runs"]:   # else an earlier result of that name stays
                self.result.close(COMPLETE if kind is None else INTERRUPTED
                                  if kind is KeyboardInterrupt else FAILED)

    @property
    def folder(self):
        """A folder for the session's time, on the disk to measure."""
        return self._servers.folder

    def open_targets(self):
        """Starts or reaches every target, makes its database, records what it promises."""
        self._require_own_databases()
        for target in self.targets:
            with Step(f"{target.name}: {target.address()}"):
                self._servers.attach(target)
                database.create_database(target)
                target.facts = dict(settings.describe(target), name=target.name, kind=target.kind,
                                    engine=target.engine, address=target.address(),
                                    own=target.own, observed=bool(target.pid))
            self.result.add_target(target.facts)
        for name, what, value, other in settings.unequal(
                [target.facts for target in self.targets]):
            say(f"bench: unequal sides: {what} of {name} is \"{value}\", of "
                f"{self.targets[0].name} \"{other}\"")
        if any(target.own and target.kind == "mysql" for target in self.targets):
            self.result.note("mysqlx_cache_cleaner is off in the MySQL servers of the driver: it "
                             "makes the server write out every prepared change, for each engine.")

    def _require_own_databases(self):
        """Two sides in one database would measure the tables of whichever was filled last."""
        found = {}
        for target in self.targets:
            if target.own:
                continue
            if target.pid and not Path(f"/proc/{target.pid}").exists():
                raise UserError(f"{target.name}: no process {target.pid} runs here")
            other = found.setdefault(database.identity(target), target.name)
            if other != target.name:
                raise UserError(f"{other} and {target.name} are the same database, in which their "
                                "tables would have the same names: give each one of its own")

    def plan(self, title, seconds):
        """Announces how long all turns together take."""
        self._progress = Progress(title, seconds)
        self._progress.__enter__()

    def tell(self, what):
        """What comes between turns and takes a while."""
        if self._progress:
            self._progress.begin(what)

    def advance(self, planned_s):
        """A piece of the plan that was no turn is done."""
        if self._progress:
            self._progress.end(planned_s)

    def order(self, number):
        """A B, then B A: what drifts hurts all alike."""
        return self.targets if number % 2 == 0 else self.targets[::-1]

    def take_turns(self, test, planned_s, measure, only_round=None):
        """`measure(target, each_second)` returns what a run has beside its name; see Result. A
        workload that repeats as a whole says in which of its rounds it is (from 0)."""
        main = next(entry["main"] for entry in self.result.document["tests"]
                    if entry["id"] == test)
        for number in range(self.request.rounds) if only_round is None else (only_round,):
            for target in self.order(number):
                if (test, target.name) not in self.failed:
                    self._turn(test, target, number, measure)
                if self._progress:
                    self._progress.end(planned_s)
        say("    " + self._line(test, main))

    def _turn(self, test, target, number, measure):
        if self._progress:
            self._progress.begin(f"{test} on {target.name}, round {number + 1}")
        start = time.monotonic()
        try:
            run = measure(target, self._progress.show if self._progress else None)
        except (UserError, *database.error_types()) as error:
            problem = _ended(target.server) or database.sentence(error)
            self.failed[test, target.name] = problem
            run = {"metrics": {}, "problem": problem[:_PROBLEM_MAX]}
        run.setdefault("seconds", time.monotonic() - start)
        self.result.add_run(dict(run, test=test, target=target.name, round=number + 1))

    def _line(self, test, main):
        """The newest figures of a test, for the screen."""
        parts = []
        for target in self.targets:
            values = [run["metrics"].get(main) for run in self.result.document["runs"]
                      if run["test"] == test and run["target"] == target.name]
            values = sorted(value for value in values if value is not None)
            figure = shown(main, values[len(values) // 2]) if values else \
                "failed" if (test, target.name) in self.failed else "n/a"
            parts.append(f"{target.name} {figure}")
        return f"{test}: {', '.join(parts)} {COLUMNS[main].title}"

    def settle(self, target):
        """Waits until the server's background work of the last run has calmed down."""
        if target.server is None or not target.server.pid():
            return
        deadline = time.monotonic() + SETTLE_S_MAX
        while time.monotonic() < deadline:
            before = target.server.cpu_seconds()
            time.sleep(0.25)
            if target.server.cpu_seconds() - before <= 0.25 * _SETTLE_CPU_SHARE:
                return

    def data_folder(self, target):
        """Where the target's data lies; None where it is not ours to know."""
        return Path(target.server.data) if target.server else None


def _ended(server):
    """What a server of the driver that is gone has said last; nothing of one that runs."""
    if server is None or server.pid():
        return ""
    return "its server has ended: " + " ".join(server.messages().splitlines()[-_LAST_LINES:])


@contextlib.contextmanager
def uninterrupted():
    """A second Ctrl-C leaves no server and no folder behind: it is ignored here."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in END_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def default_path(command):
    """A name that nobody has, reserved by its partial file: two drivers may begin in one second."""
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    for number in itertools.count(1):
        path = RESULTS / f"{command}-{stamp}{f'-{number}' if number > 1 else ''}.json"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial_of(path).touch(exist_ok=False)
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}")
        if not path.exists():
            return path
        partial_of(path).unlink()
