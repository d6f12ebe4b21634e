# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench ledger: what the bytes are that an operation makes the server write: redo and its
padding, doublewrite, pages of data and of undo, binary log, and so on, as the Performance Schema
counts them by file, next to what the kernel counts for the process and for the disk.

Both engines write with threads here: what goes to the kernel asynchronously, neither the
Performance Schema nor /proc counts in full."""
import time
from dataclasses import dataclass
from pathlib import Path

from ..progress import Step
from . import database
from .load import Load
from .measuring import KIB, observe, ratio
from .micro_tests import GROUPS, chosen
from .queries import require_private, status

# With instrumentation by thread, what threads do that the Performance Schema does not know is lost.
OPTIONS = ("--performance-schema=ON", "--performance-schema-consumer-thread-instrumentation=OFF",
           "--innodb-use-native-aio=OFF",
           "--loose-rowan-io-backend=threads", "--loose-rowan-log-sync-method=fdatasync")
CAUSES = ("redo", "padding", "doublewrite", "data", "undo", "journal", "temporary", "control",
          "binlog", "others")
COLUMNS = (*[f"{cause}_kb" for cause in CAUSES], "sum_kb", "process_kb", "explained", "wkb", "o")
# Bytes of redo that were asked for, without what fills up blocks.
_APPENDED = {"rowan": "Rowan_log_written", "innodb": "Innodb_redo_log_current_lsn"}
_KINDS = {"log_file": "redo", "doublewrite_file": "doublewrite", "dblwr_file": "doublewrite",
          "data_file": "data", "page_lsn_file": "journal", "temporary_file": "temporary",
          "temp_file": "temporary", "control_file": "control"}
_UNDO_FILES = {"rowan": "space_2.rws", "innodb": "undo_0"}
_BY_CLASS = ("SELECT event_name, sum_number_of_bytes_write FROM "
             "performance_schema.file_summary_by_event_name WHERE sum_number_of_bytes_write > 0")
_BY_FILE = ("SELECT SUM(sum_number_of_bytes_write) FROM "
            "performance_schema.file_summary_by_instance WHERE file_name LIKE '%/{file}%' AND "
            "event_name LIKE 'wait/io/file/{engine}/%'")
_QUIET_S, _QUIET_LIMIT_S = 0.5, 20


@dataclass
class Written:
    """Bytes since the start of the server."""
    by_class: dict
    undo: int
    appended: int
    process: int      # given to write calls, as /proc/PID/io says


class Ledger:
    """`options`: rows, tests (names of microbenchmarks), threads, time."""

    def __init__(self, session, options):
        self._session, self._options = session, options
        self._tests = chosen(",".join(options.tests), "42")

    def run(self):
        session = self._session
        require_private(session.targets, "ledger")
        for name, title in GROUPS:
            session.result.add_group(name, f"{title}: bytes written an operation")
        for test in self._tests:
            session.result.add_test(test.name, test.group, test.name, "sum_kb")
        session.result.set_columns(COLUMNS)
        session.result.note(
            "Both engines write with threads and not asynchronously, so that all writes are seen. "
            "A run counts until what it left behind has been written or the server is quiet; pages "
            "that stay in memory by then are not in it. \"others\" are files of the server and of "
            "the engine that was not measured.")
        session.open_targets()
        for target in session.targets:
            with Step(f"loading {self._options.rows:,} rows into {target.name}"):
                Load(target, "micro.lua", {"rows": self._options.rows, "tables": 1,
                                           "engine": target.engine}, "prepare").run()
        planned = self._options.time + 3
        session.plan("ledger", planned * len(self._tests) * len(session.targets)
                     * session.request.rounds)
        for test in self._tests:
            session.take_turns(test.name, planned, lambda target, tell, test=test:
                               self._one_run(test, target, tell))

    def _one_run(self, test, target, tell):
        options = self._options
        load = Load(target, "micro.lua", {
            "kind": test.kind, "range": test.rows, "rows": options.rows, "tables": 1,
            "threads": options.threads, "events": 0, "time": options.time,
            "rand_type": "uniform"})
        with database.connect(target) as connection:
            _wait_until_quiet(target)
            with observe(target, self._session.data_folder(target)) as sampler:
                before = _written(connection, target)
                report = load.run(tell)
                _wait_until_quiet(target)
                after = _written(connection, target)
        bytes_by_cause = causes(before, after, target.engine)
        total = sum(bytes_by_cause.values())
        process = after.process - before.process
        per = KIB * max(1, report.queries)
        metrics = {f"{cause}_kb": count / per for cause, count in bytes_by_cause.items()}
        metrics.update(sum_kb=total / per, process_kb=process / per,
                       explained=100 * total / process if process else None,
                       wkb=ratio(sampler.usage.disk_written_bytes, per),
                       o=report.queries / report.seconds)
        return {"seconds": report.seconds, "metrics": metrics}


def causes(before, after, engine):
    """{cause: bytes} between two looks."""
    found = dict.fromkeys(CAUSES, 0)
    for name, count in after.by_class.items():
        found[_cause(name, engine)] += count - before.by_class.get(name, 0)
    undo = after.undo - before.undo
    found["data"] -= undo
    found["undo"] += undo
    appended = min(after.appended - before.appended, found["redo"])
    found["padding"] = found["redo"] - appended
    found["redo"] = appended
    return found


def _cause(event_name, engine):
    """Of a class of files such as wait/io/file/innodb/innodb_log_file."""
    owner, _, kind = event_name.removeprefix("wait/io/file/").partition("/")
    if owner == engine:
        return _KINDS.get(kind.removeprefix(f"{engine}_"), "others")
    return "binlog" if (owner, kind) == ("sql", "binlog") else "others"


def _written(connection, target):
    undo = connection.value(_BY_FILE.format(file=_UNDO_FILES[target.engine], engine=target.engine))
    return Written({name: int(count) for name, count in connection.execute(_BY_CLASS)},
                   int(undo or 0), status(connection, _APPENDED[target.engine]) or 0,
                   _process_bytes(target.pid))


def _process_bytes(pid):
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(fields["wchar"])


def _wait_until_quiet(target):
    """Until nothing was written for a moment; at most as long as pages may take."""
    deadline = time.monotonic() + _QUIET_LIMIT_S
    while time.monotonic() < deadline:
        before = _process_bytes(target.pid)
        time.sleep(_QUIET_S)
        if _process_bytes(target.pid) == before:
            return
