# SPDX-License-Identifier: GPL-2.0-only
"""The columns of all tables: how each metric of a run is named, measured in and read."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """`better` is higher, lower or empty where neither is."""
    name: str
    title: str
    better: str
    digits: int
    meaning: str


_COLUMNS = (
    Column("qps", "QPS", "higher", 0, "queries a second"),
    Column("rows_per_s", "rows/s", "higher", 0, "rows read or written a second"),
    Column("commits_per_s", "commits/s", "higher", 0, "durable transactions a second"),
    Column("events_per_s", "events/s", "higher", 0, "events of the workload a second"),
    Column("nopm", "NOPM", "higher", 0, "new orders committed a minute"),
    Column("per_core", "QPS/core", "higher", 0,
           "queries a second for each core that the server kept busy"),
    Column("busy_cores", "cores", "", 2, "cores that the server kept busy"),
    Column("speedup", "speed-up", "higher", 2, "multiple of the rate with the fewest clients"),
    Column("ms", "ms", "lower", 2, "milliseconds of one query, the median of its runs"),
    Column("cpu", "cpu/o", "lower", 1, "microseconds of the server's processor time an operation"),
    Column("client_cpu", "client cpu/o", "lower", 1,
           "microseconds of the client's processor time an operation"),
    Column("cs", "cs/o", "lower", 2, "context switches of the server an operation"),
    Column("r", "r/o", "lower", 3, "reads from the disk an operation"),
    Column("rkb", "rKB/o", "lower", 2, "KiB read from the disk an operation"),
    Column("wkb", "wKB/o", "lower", 2, "KiB written to the disk an operation"),
    Column("o", "o/s", "higher", 0, "operations a second, what the columns per operation count"),
    Column("instructions", "instr/o", "lower", 0, "user instructions of the server an operation"),
    Column("i1_misses", "I1 miss/o", "lower", 1,
           "instructions that missed a cache of 32 KiB an operation"),
    Column("d1_misses", "D1 miss/o", "lower", 1,
           "reads and writes that missed a cache of 48 KiB an operation"),
    Column("l2_misses", "L2 miss/o", "lower", 1,
           "misses of a second-level cache of 2 MiB an operation"),
    Column("waited_us", "waited us/o", "lower", 1,
           "microseconds that sessions waited within statements an operation"),
    Column("retries", "retries", "lower", 0,
           "transactions tried again after a deadlock (1213), a lock wait that took too long "
           "(1205), a changed record (1020) or a lock that was not waited for (3572)"),
    Column("p10", "p10 us", "lower", 0, "10th percentile of the latency"),
    Column("p50", "p50 us", "lower", 0, "median of the latency"),
    Column("p95", "p95 us", "lower", 0, "95th percentile of the latency"),
    Column("p99", "p99 us", "lower", 0, "99th percentile of the latency"),
    Column("p999", "p99.9 us", "lower", 0, "99.9th percentile of the latency"),
    Column("max", "max us", "lower", 0, "the longest latency"),
    Column("worst_second_ms", "worst s ms", "lower", 2, "99th percentile in the worst second"),
    Column("last_us", "last us", "lower", 0, "median of the last quarter of the run"),
    Column("quiet_us", "quiet us", "lower", 0, "median while nothing else runs"),
    Column("ips", "ips", "higher", 0, "rows inserted a second"),
    Column("dps", "dps", "", 0, "rows deleted a second, beside the inserts"),
    Column("rps", "rps", "", 0, "reads from the disk a second"),
    Column("rmbps", "rmbps", "", 1, "MiB read from the disk a second"),
    Column("wps", "wps", "", 0, "writes to the disk a second"),
    Column("wmbps", "wmbps", "", 1, "MiB written to the disk a second"),
    Column("rpq", "rpq", "lower", 3, "reads from the disk a query"),
    Column("rkbpq", "rkbpq", "lower", 2, "KiB read from the disk a query"),
    Column("wpi", "wpi", "lower", 3, "writes to the disk an inserted row"),
    Column("wkbpi", "wkbpi", "lower", 3, "KiB written to the disk an inserted row"),
    Column("csps", "csps", "", 0, "context switches of the server a second"),
    Column("cpups", "cpups", "", 1, "processor time of the server, percent of one core"),
    Column("cspq", "cspq", "lower", 2, "context switches of the server an operation"),
    Column("cpupq", "cpupq", "lower", 1,
           "microseconds of the server's processor time an operation"),
    Column("size_mib", "size", "lower", 0, "MiB of tables and indexes, as the server counts them"),
    Column("rss_mib", "rss", "lower", 0, "MiB of the server's resident memory"),
    Column("maxop_ms", "maxop", "lower", 1, "milliseconds of the longest operation"),
    Column("stalls", "stalls", "lower", 0, "seconds with less than a tenth of the median rate"),
    Column("syncs", "syncs/commit", "lower", 2, "syncs of the log a commit"),
    Column("calls", "calls/commit", "lower", 2, "system calls that write or sync a commit"),
    Column("redo_bytes", "redo B", "lower", 0, "bytes of redo an update"),
    Column("pages", "pages", "lower", 2, "pages written or left dirty an update"),
    Column("redo_kb", "redo", "lower", 3, "KiB of redo an operation, without padding"),
    Column("padding_kb", "padding", "lower", 3, "KiB that fill up what is written of the redo"),
    Column("redo_files_kb", "redo files", "lower", 3, "KiB of zeros in new redo files"),
    Column("doublewrite_kb", "doublewrite", "lower", 3, "KiB to the doublewrite file"),
    Column("data_kb", "data", "lower", 3, "KiB to the files of tables and indexes"),
    Column("undo_kb", "undo", "lower", 3, "KiB to the files of undo"),
    Column("catalog_kb", "catalog", "lower", 3, "KiB to the engine's catalog"),
    Column("journal_kb", "journal", "lower", 3, "KiB to the journal of page versions"),
    Column("temporary_kb", "temporary", "lower", 3, "KiB to files of temporary tables and sorts"),
    Column("control_kb", "control", "lower", 3, "KiB to control files"),
    Column("copies_kb", "copies", "lower", 3, "KiB to backups and exported tables"),
    Column("binlog_kb", "binlog", "lower", 3, "KiB to the binary log"),
    Column("others_kb", "others", "", 3, "KiB to files of the server or of another engine"),
    Column("sum_kb", "KB/o", "lower", 3, "KiB written an operation, all causes"),
    Column("process_kb", "process", "", 3, "KiB that /proc counts for the process an operation"),
    Column("explained", "explained %", "", 1, "the causes' sum in percent of what /proc counts"),
    Column("checkpoint_kb", "checkpoint", "lower", 3,
           "KiB of data and undo written for the continuous checkpoint"),
    Column("log_full_kb", "log full", "lower", 3, "KiB of these because the redo was nearly full"),
    Column("eviction_kb", "eviction", "lower", 3, "KiB of these to make room ahead of need"),
    Column("no_free_frame_kb", "no free frame", "lower", 3,
           "KiB of these by sessions that found no free frame"),
    Column("other_reason_kb", "other reason", "lower", 3,
           "KiB of these at a start or shutdown, or as the pool shrank"),
    Column("fs_journal_kb", "fs journal", "", 3, "KiB of the file system to its journal"),
    Column("discard_kb", "discards", "", 3, "KiB that the disk was told to forget"),
    Column("rows_read", "rows read", "lower", 0, "rows that the server asked the engine for"),
)
COLUMNS = {column.name: column for column in _COLUMNS}
LATENCY = ("p50", "p95", "p99", "p999", "max", "worst_second_ms")


def shown(name, value):
    """A figure as a table shows it; n/a for what could not be measured."""
    if value is None:
        return "n/a"
    digits = COLUMNS[name].digits
    if digits and value and abs(value) < 10 ** -digits:
        return f"{value:.2g}"
    return f"{value:,.{digits}f}"
