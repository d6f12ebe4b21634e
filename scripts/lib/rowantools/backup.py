# SPDX-License-Identifier: GPL-2.0-only
"""scripts/backup: a copy of a running server with all its writes going on.

The server itself copies: Rowan's tablespaces and redo log through ROWAN_BACKUP_BEGIN and _END,
InnoDB's files, which hold the dictionary, through CLONE LOCAL. This program takes the locks, asks
for both, and notes the position of the binary log that belongs to the copy. docs/backup.md tells
why the parts fit together."""
import argparse
import json
import os
import shutil
import signal
import sys
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

from .backup_apply import apply_increment, base_folder, cloned, left_out, verify
from .backup_files import write_sums
from .backup_locks import TableLocks
from .binlog_xa import ended_xa
from .client import Client, ConnectionLost, MysqlError
from .paths import UserError, run_main
from .progress import Step, say

INFORMATION = "backup.json"
_PROGRAM = os.environ.get("ROWAN_PROGRAM", "scripts/backup")  # as it is called where installed
_SYSTEM_SCHEMAS = "'mysql', 'sys', 'information_schema', 'performance_schema'"
_POLL_S = 0.5
# More connections than could be ending an XA transaction at once.
_XA_ON_THEIR_WAY_MAX = 10000
# The largest that the server takes: a connection that holds a lock says nothing for hours.
_WAIT_TIMEOUT_MAX_S = 31536000
_KILL_WAIT_S = 60


class Backup:
    """One backup of one server."""

    def __init__(self, options):
        self._options = options
        self.target = Path(options.target).absolute()
        self._base = Path(options.base).absolute() if options.base else None
        self._clients = []
        self._appliers = []  # channels to start again
        self.facts = {"format": 1, "base": str(self._base) if self._base else None}

    # --- the steps ---

    def run(self):
        self._check_target()
        made = not self.target.exists()
        try:
            self._copy()
        except BaseException:
            self._end_statements()
            self._start_appliers()
            if made:
                shutil.rmtree(self.target, ignore_errors=True)
            raise
        for client in self._clients:
            client.close()
        self._put_together()
        self._tell()

    def _copy(self):
        main = self._connect()
        self._check_server(main)
        lock = self._connect()
        begin = time.monotonic()
        self._stop_appliers(main)
        with Step("waiting for running DDL (LOCK INSTANCE FOR BACKUP)"):
            self._limit_waits(lock)
            lock.execute("LOCK INSTANCE FOR BACKUP")
        self._copy_rowan_pages(main)
        self._copy_innodb_and_position(main)
        self._check_lock(lock)
        with Step("copying the end of the redo log"):
            end = main.value(f"SELECT ROWAN_BACKUP_END({self.facts['rowan_end_lsn']})")
        lock.close()
        self._start_appliers()
        self._note_left_out()
        self._note_ended_xa(main)
        self.facts["rowan_end_lsn"] = int(end)
        self.facts["seconds"] = round(time.monotonic() - begin, 2)
        self.facts["finished"] = datetime.now(timezone.utc).isoformat(timespec="seconds")

    def _copy_rowan_pages(self, main):
        base = f"'{base_folder(self._base)}'" if self._base else "NULL"
        rate = int(self._options.rate * (1 << 20))
        with Step("copying Rowan's tablespaces") as step, _Watch(self._connect(), step):
            start = main.value(
                f"SELECT ROWAN_BACKUP_BEGIN('{self.target / 'rowan'}', {base}, {rate}, "
                f"{int(self._options.leave_out)}, {int(self._options.reflink)})")
        self.facts["rowan_start_lsn"] = int(start)

    def _copy_innodb_and_position(self, main):
        tables = main.query(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE engine = 'InnoDB'"
            f" AND table_type = 'BASE TABLE' AND table_schema NOT IN ({_SYSTEM_SCHEMAS})")
        locks = TableLocks(self._connect, main, tables)
        tries = 0
        try:
            if tables:
                with Step(f"locking {len(tables)} InnoDB tables against writes") as step:
                    tries = locks.take(self._options.lock_timeout, step)
            begin = time.monotonic()
            with Step("copying InnoDB (CLONE LOCAL)"):
                main.execute(f"CLONE LOCAL DATA DIRECTORY = '{self.target / 'data'}'")
            self._note_position(main)
        finally:
            locks.close()
        self.facts["innodb_tables_locked"], self.facts["innodb_lock_tries"] = len(tables), tries
        self.facts["innodb_locked_seconds"] = round(time.monotonic() - begin, 2) if tables else 0

    def _note_position(self, main):
        """The moment that is restored: Rowan's LSN and the binary log's end belong together."""
        local, replication, engines = main.query(
            "SELECT local, replication, storage_engines FROM performance_schema.log_status")[0]
        local, engines = json.loads(local), json.loads(engines)
        self.facts["rowan_end_lsn"] = engines["Rowan"]["LSN"]
        self.facts["binary_log_file"] = local.get("binary_log_file")
        self.facts["binary_log_position"] = local.get("binary_log_position")
        self.facts["gtid_executed"] = local.get("gtid_executed", "").replace("\n", "")
        self.facts["replication"] = json.loads(replication)

    def _note_left_out(self):
        self.facts["left_out"] = left_out(self.target / "rowan")
        for table in self.facts["left_out"]:
            say(f"backup: WARNING: table {table} is not in the backup: its file cannot be read")

    def _note_ended_xa(self, main):
        """XA COMMIT and XA ROLLBACK are in the binary log before they are in the engine."""
        self.facts["xa_ended"] = []
        if self.facts["binary_log_file"]:
            folder = Path(main.value("SELECT @@log_bin_basename")).parent
            ended = ended_xa(folder / self.facts["binary_log_file"],
                             self.facts["binary_log_position"])
            self.facts["xa_ended"] = list(ended.values())[-_XA_ON_THEIR_WAY_MAX:]

    def _put_together(self):
        """A full backup becomes a data directory; an incremental one waits to be applied."""
        if not self._base:
            os.rename(self.target / "rowan", self.target / "data" / "rowan")
        with open(self.target / INFORMATION, "w") as stream:
            json.dump(self.facts, stream, indent=1)
        with Step("checksums of InnoDB's files"):
            write_sums(self.target)

    def _tell(self):
        facts = self.facts
        say(f"backup: {self.target}, {_megabytes(self.target):.0f} MiB on disk, "
            f"{facts['seconds']} s")
        if facts["binary_log_file"]:
            say(f"backup: it is at {facts['binary_log_file']} position "
                f"{facts['binary_log_position']}"
                + (f", GTIDs {facts['gtid_executed']}" if facts["gtid_executed"] else ""))
        if self._options.reflink:
            say(self._told_of_clones())
        if facts["innodb_tables_locked"]:
            say(f"backup: {facts['innodb_tables_locked']} InnoDB tables were locked against writes "
                f"for {facts['innodb_locked_seconds']} s")
        if self._base:
            say(f"backup: `{_PROGRAM} --apply FULL {self.target}` puts it onto its base")
        else:
            say(f"backup: to restore, copy {self.target / 'data'} to the data directory of a "
                "stopped server and start it")

    def _told_of_clones(self):
        shared, all_of_them = cloned(self.target / "data" / "rowan")
        said = (f"backup: {shared} of {all_of_them} tablespaces share their blocks with the "
                "server's until either is written")
        if shared == all_of_them:
            return said
        return said + ("; the others were copied, as their file system cannot share blocks, or not "
                       "with that of the folder: the server's error log has the reason")

    # --- what they need ---

    def _connect(self):
        options = self._options
        client = Client(options.socket, user=options.user, password=options.password,
                        timeout_s=None)
        self._clients.append(client)
        client.execute(f"SET SESSION wait_timeout = {_WAIT_TIMEOUT_MAX_S}")
        return client

    @staticmethod
    def _check_lock(lock):
        """A connection never comes back by itself, so whoever answers still has the lock."""
        try:
            lock.value("SELECT CONNECTION_ID()")
        except (MysqlError, ConnectionLost) as error:
            raise UserError("the connection that had LOCK INSTANCE FOR BACKUP was lost "
                            f"({error}), so tables may have changed: the backup is given up")

    def _end_statements(self):
        """What the server still does for this backup ends before its folder goes."""
        ids = [client.connection_id for client in self._clients]
        for client in self._clients:
            client.close()
        self._clients = []
        try:
            other = self._connect()
            for connection in ids:
                other.error_code(f"KILL {connection}")  # 1094: it is gone
            wanted = ",".join(map(str, ids)) or "0"
            deadline = time.monotonic() + _KILL_WAIT_S
            while time.monotonic() < deadline and int(other.value(
                    "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_id IN "
                    f"({wanted})")):
                time.sleep(_POLL_S)
            other.close()
        except (MysqlError, ConnectionLost) as error:
            say(f"backup: the server cannot be told to end the backup: {error}")

    def _limit_waits(self, client):
        client.execute(f"SET SESSION lock_wait_timeout = {self._options.lock_timeout}")

    def _check_target(self):
        if self.target.exists() and any(self.target.iterdir()):
            raise UserError(f"{self.target} is not empty")
        if "'" in str(self.target) or "\\" in str(self.target):
            raise UserError("the folder's name must not have quotes or backslashes")
        if self._base and not (self._base / INFORMATION).is_file():
            raise UserError(f"{self._base} holds no backup")

    def _check_server(self, main):
        if main.value("SELECT plugin_status FROM information_schema.plugins "
                      "WHERE plugin_name = 'ROWAN'") != "ACTIVE":
            raise UserError("Rowan is not installed in this server")
        if not int(main.value("SELECT @@performance_schema")):
            raise UserError("the server runs with performance_schema = OFF, whose log_status table "
                            "tells which position of the binary log belongs to a copy")
        if main.value("SELECT plugin_status FROM information_schema.plugins "
                      "WHERE plugin_name = 'clone'") != "ACTIVE":
            main.execute("INSTALL PLUGIN clone SONAME 'mysql_clone.so'")
            say("backup: the server's clone plugin, which copies InnoDB's files, is installed now")
        others = main.query(
            "SELECT CONCAT(table_schema, '.', table_name, ' (', engine, ')') FROM "
            "information_schema.tables WHERE table_type = 'BASE TABLE' AND engine NOT IN "
            f"('InnoDB', 'ROWAN') AND table_schema NOT IN ({_SYSTEM_SCHEMAS})")
        if others:
            say(f"backup: WARNING: the rows of {len(others)} tables of other engines are not "
                f"copied, among them {others[0][0]}")
        self.facts["server"] = main.value("SELECT CONCAT(@@version, ' ', @@server_uuid)")

    def _stop_appliers(self, main):
        """A replica keeps its positions in InnoDB: they stand still while that is copied. The
        server refuses to stop them once the instance is locked."""
        for (channel,) in main.query(
                "SELECT channel_name FROM performance_schema.replication_applier_status "
                "WHERE service_state = 'ON'"):
            self._appliers.append(channel)
            main.execute(f"STOP REPLICA SQL_THREAD FOR CHANNEL '{channel}'")


    def _start_appliers(self):
        """By a connection of its own: others may be in the midst of a statement."""
        channels, self._appliers = self._appliers, []
        if not channels:
            return
        try:
            other = self._connect()
            for channel in channels:
                other.execute(f"START REPLICA SQL_THREAD FOR CHANNEL '{channel}'")
        except (MysqlError, ConnectionLost) as error:
            say(f"backup: WARNING: the replica's appliers ({', '.join(map(repr, channels))}) are "
                f"not all started again: {error}")


class _Terminated(SystemExit):
    """A signal asked for an end: what was stopped is started again on the way out."""


def _end_on_signals():
    endings = (signal.SIGTERM, signal.SIGHUP)

    def end(number, _):
        for ending in endings:
            signal.signal(ending, signal.SIG_IGN)
        say(f"backup: ended by {signal.Signals(number).name}")
        raise _Terminated(128 + number)

    for ending in endings:
        signal.signal(ending, end)


class _Watch:
    """Shows how far the pages are."""

    def __init__(self, client, step):
        self._client, self._step = client, step
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self):
        self._first = self._pages()
        self._page_bytes = int(self._client.query(
            "SHOW GLOBAL STATUS LIKE 'Rowan_page_size'")[0][1])
        self._thread.start()

    def __exit__(self, *ignored):
        self._stop.set()
        self._thread.join()

    def _pages(self):
        rows = dict(self._client.query("SHOW GLOBAL STATUS LIKE 'Rowan_backup_pages_%'"))
        return int(rows["Rowan_backup_pages_read"]), int(rows["Rowan_backup_pages_written"])

    def _loop(self):
        while True:
            last = self._stop.wait(_POLL_S)
            try:
                read, written = self._pages()
            except (MysqlError, ConnectionLost):
                return
            scale = self._page_bytes / (1 << 20)
            self._step.update(detail=f"{(read - self._first[0]) * scale:.0f} MiB read, "
                                     f"{(written - self._first[1]) * scale:.0f} MiB kept")
            if last:
                return


def _megabytes(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_blocks * 512 for path in files) / (1 << 20)


def parse(arguments=None):
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Copies a running server into a folder, or, with --apply, puts incremental "
                    "copies onto a full one, or, with --verify, reads copies through. Run it on "
                    "the server's machine as the user of mysqld or as root. See docs/backup.md.")
    parser.add_argument("target",
                        help="folder of the backup: new or empty; with --apply a full one, with "
                             "--verify any")
    parser.add_argument("increments", nargs="*",
                        help="with --apply and --verify: incremental backups in order")
    parser.add_argument("--apply", action="store_true",
                        help="put the incremental backups onto the full one in TARGET")
    parser.add_argument("--verify", action="store_true",
                        help="check every byte of the backup in TARGET, and of those onto it")
    parser.add_argument("--leave-out", action="store_true",
                        help="leave tables out whose files cannot be read, instead of failing")
    parser.add_argument("--socket", help="the server's unix socket")
    parser.add_argument("--user", default="root", help="an account with BACKUP_ADMIN, SELECT, LOCK "
                        "TABLES, REPLICATION CLIENT (default root)")
    parser.add_argument("--password", default=os.environ.get("MYSQL_PWD", ""),
                        help="its password; better in the environment variable MYSQL_PWD")
    parser.add_argument("--base", metavar="FOLDER",
                        help="copy only Rowan pages that changed since this backup")
    parser.add_argument("--reflink", action="store_true",
                        help="share the blocks of Rowan's tablespaces (XFS, btrfs) in place of "
                             "copying them: takes seconds whatever their size; for a second server "
                             "on today's data, not against the loss of a disk")
    parser.add_argument("--rate", type=float, default=0, metavar="MIB",
                        help="read at most so many MiB of tablespaces a second (default: no limit)")
    parser.add_argument("--lock-timeout", type=int, default=600, metavar="S",
                        help="seconds to wait for DDL, and again for transactions that write "
                             "InnoDB tables (default 600)")
    options = parser.parse_args(arguments)
    if options.apply and options.verify:
        parser.error("--apply or --verify, one after the other")
    if options.reflink and options.base:
        parser.error("--reflink makes full copies: leave --base out")
    if options.apply and not options.increments:
        parser.error("--apply wants incremental backups")
    if options.increments and not options.apply and not options.verify:
        parser.error("only --apply and --verify want incremental backups")
    if not options.apply and not options.verify and not options.socket:
        parser.error("--socket names the server")
    return options


def main():
    options = parse()
    _end_on_signals()
    if options.verify:
        verify([Path(name).absolute() for name in (options.target, *options.increments)])
        return 0
    if options.apply:
        full = Path(options.target).absolute()
        for increment in options.increments:
            with Step(f"applying {increment}"):
                apply_increment(full, Path(increment).absolute(), INFORMATION)
        say(f"backup: to restore, copy {full / 'data'} to the data directory of a stopped server "
            "and start it")
        return 0
    try:
        Backup(options).run()
    except MysqlError as error:
        raise UserError(f"the server says: {error}")
    except ConnectionLost as error:
        raise UserError(f"no connection: {error}")
    except OSError as error:
        raise UserError(f"{error}; is this the user of mysqld?")
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "backup"))
