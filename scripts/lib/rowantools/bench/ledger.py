# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench ledger: what the bytes are that an operation makes the server write: redo and its
padding, doublewrite, pages of data and of undo and why they were written, binary log, and so on,
next to what the kernel counts for the process and for the disk. Rowan counts its own by cause
(INFORMATION_SCHEMA.ROWAN_METRICS); InnoDB's and the server's are those that the Performance Schema
counts by file.

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
from .sampler import SECTOR, disk_of

# With instrumentation by thread, what threads do that the Performance Schema does not know is lost.
OPTIONS = ("--performance-schema=ON", "--performance-schema-consumer-thread-instrumentation=OFF",
           "--innodb-use-native-aio=OFF",
           "--loose-rowan-io-backend=threads", "--loose-rowan-log-sync-method=fdatasync")
CAUSES = ("redo", "padding", "redo_files", "doublewrite", "data", "undo", "catalog", "journal",
          "temporary", "control", "copies", "binlog", "others")
# Why pages of data and undo were written; part of "data" and "undo".
REASONS = ("checkpoint", "log_full", "eviction", "no_free_frame", "other_reason")
COLUMNS = (*[f"{cause}_kb" for cause in CAUSES], "sum_kb", "process_kb", "explained",
           *[f"{reason}_kb" for reason in REASONS], "wkb", "fs_journal_kb", "discard_kb", "o")
# What InnoDB has and does not tell apart.
_NOT_TOLD = dict.fromkeys(("redo_files", "catalog", "copies", *REASONS))
_OF_ROWAN = {"redo": "redo", "redo_padding": "padding", "redo_files": "redo_files",
             "doublewrite": "doublewrite", "catalog": "catalog", "page_lsns": "journal",
             "temporary_pages": "temporary", "sort": "temporary", "control": "control",
             "backup": "copies", "export": "copies"}
_KINDS = {"log_file": "redo", "doublewrite_file": "doublewrite", "dblwr_file": "doublewrite",
          "data_file": "data", "temp_file": "temporary"}
_METRICS = ("SELECT name, count FROM information_schema.rowan_metrics WHERE name LIKE "
            "'written\\_%'")
_BY_CLASS = ("SELECT event_name, sum_number_of_bytes_write FROM "
             "performance_schema.file_summary_by_event_name WHERE sum_number_of_bytes_write > 0")
_BY_FILE = ("SELECT SUM(sum_number_of_bytes_write) FROM "
            "performance_schema.file_summary_by_instance WHERE file_name LIKE '%/undo_0%' AND "
            "event_name LIKE 'wait/io/file/innodb/%'")
_QUIET_S, _QUIET_LIMIT_S = 0.5, 20


@dataclass
class Written:
    """Bytes since the start of the server."""
    by_class: dict          # of files, as the Performance Schema names them
    by_rowan: dict          # as Rowan names its causes; empty: another engine is measured
    undo: int = 0           # InnoDB's: part of its data files
    appended: int = 0       # InnoDB's: redo without what fills up blocks
    process: int = 0        # given to write calls, as /proc/PID/io says
    fs_journal: int = None  # by the file system to its own journal
    discarded: int = None   # of the disk


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
            "the engine that was not measured. The journal of the file system is told by XFS "
            "alone, discards by disks that the kernel keeps figures of; n/a where not.")
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
        folder = self._session.data_folder(target)
        with database.connect(target) as connection:
            _wait_until_quiet(target)
            with observe(target, folder) as sampler:
                before = _written(connection, target, folder)
                report = load.run(tell)
                _wait_until_quiet(target)
                after = _written(connection, target, folder)
        bytes_by = causes(before, after)
        total = sum(bytes_by[cause] or 0 for cause in CAUSES)
        process = after.process - before.process
        per = KIB * max(1, report.queries)
        metrics = {f"{name}_kb": ratio(count, per) for name, count in bytes_by.items()}
        metrics.update(sum_kb=total / per, process_kb=process / per,
                       explained=100 * total / process if process else None,
                       wkb=ratio(sampler.usage.disk_written_bytes, per),
                       fs_journal_kb=ratio(_grown(before.fs_journal, after.fs_journal), per),
                       discard_kb=ratio(_grown(before.discarded, after.discarded), per),
                       o=report.queries / report.seconds)
        return {"seconds": report.seconds, "metrics": metrics}


def causes(before, after):
    """{cause or reason: bytes} between two looks; None for what is not told."""
    found = dict.fromkeys((*CAUSES, *REASONS), 0)
    for name, count in after.by_class.items():
        cause = _cause(name, "" if after.by_rowan else "innodb")
        if cause:
            found[cause] += count - before.by_class.get(name, 0)
    if after.by_rowan:
        for name, count in after.by_rowan.items():
            _add_rowan(found, name, count - before.by_rowan.get(name, 0))
        return found
    undo = after.undo - before.undo
    found["data"] -= undo
    found["undo"] += undo
    appended = min(after.appended - before.appended, found["redo"])
    found["padding"] = found["redo"] - appended
    found["redo"] = appended
    return {**found, **_NOT_TOLD}


def _add_rowan(found, name, count):
    """Of a counter such as data_checkpoint."""
    kind, _, reason = name.partition("_")
    if kind in ("data", "undo"):
        found[kind] += count
        found[reason if reason in REASONS else "other_reason"] += count
    else:
        found[_OF_ROWAN.get(name, "others")] += count


def _cause(event_name, engine):
    """Of a class of files such as wait/io/file/innodb/innodb_log_file; None for Rowan's, which it
    counts itself."""
    owner, _, kind = event_name.removeprefix("wait/io/file/").partition("/")
    if owner == "rowan":
        return None
    if owner == engine:
        return _KINDS.get(kind.removeprefix(f"{engine}_"), "others")
    return "binlog" if (owner, kind) == ("sql", "binlog") else "others"


def _written(connection, target, data_folder):
    looked = Written({name: int(count) for name, count in connection.execute(_BY_CLASS)}, {},
                     process=_process_bytes(target.pid), fs_journal=fs_journal_bytes(data_folder),
                     discarded=_discarded_bytes(data_folder))
    if target.engine == "rowan":
        looked.by_rowan = {name.removeprefix("written_"): int(count)
                           for name, count in connection.execute(_METRICS)}
    else:
        looked.undo = int(connection.value(_BY_FILE) or 0)
        looked.appended = status(connection, "Innodb_redo_log_current_lsn") or 0
    return looked


def _grown(before, after):
    return None if before is None or after is None else after - before


def fs_journal_bytes(folder, statistics=Path("/sys/fs/xfs")):
    """What the file system of a folder has written to its journal; None where it does not tell."""
    disk = disk_of(folder)
    path = statistics / disk.parent.resolve().name / "stats/stats" if disk else None
    if path is None or not path.exists():
        return None
    for line in path.read_text().splitlines():
        if line.startswith("log "):
            return int(line.split()[2]) * SECTOR
    return None


def _discarded_bytes(folder):
    disk = disk_of(folder)
    fields = disk.read_text().split() if disk else ()
    return int(fields[13]) * SECTOR if len(fields) > 13 else None


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
