# SPDX-License-Identifier: GPL-2.0-only
"""What a run costs the server, read from /proc: processor time, context switches, memory, reads and
writes, and the same of the disk that holds the data.

Where there is no process to look at (a server elsewhere, or one that was not named), every figure
is None: nothing is guessed. Context switches are summed over the threads seen once a second; what a
thread did in its last second, if it ended, is missing."""
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
SECTOR = 512
_INTERVAL_S = 1.0


@dataclass
class Usage:
    """Counters of a process tree and its disk at one moment, or their difference."""
    cpu_s: float = 0.0
    read_bytes: int = 0
    written_bytes: int = 0
    disk_reads: int = None
    disk_read_bytes: int = None
    disk_writes: int = None
    disk_written_bytes: int = None

    def since(self, before):
        return Usage(*[None if new is None or old is None else new - old
                       for new, old in zip(vars(self).values(), vars(before).values())])


@dataclass
class _Thread:
    first: int
    last: int


@dataclass
class Sampler:
    """Watches one server during a run: `with Sampler(pid, folder) as sampler: ...`."""
    pid: int
    data_folder: Path = None
    usage: Usage = None            # of the run; None without a process
    switches: int = None
    rss_bytes: int = None          # the most that was seen
    _threads: dict = field(default_factory=dict)

    def __enter__(self):
        self._stop = threading.Event()
        self._watcher = None
        if self.pid:
            self._disk = disk_of(self.data_folder)
            self._look(first=True)
            self._before = self._read()
            self._watcher = threading.Thread(target=self._loop, daemon=True)
            self._watcher.start()
        return self

    def __exit__(self, *ignored):
        self._stop.set()
        if self._watcher is None:
            return
        self._watcher.join()
        try:
            self._look()
            self.usage = self._read().since(self._before)
            self.switches = sum(thread.last - thread.first for thread in self._threads.values())
        except OSError:  # the server is gone: the run itself tells
            self.usage = self.switches = self.rss_bytes = None

    def _loop(self):
        while not self._stop.wait(_INTERVAL_S):
            try:
                self._look()
            except OSError:
                return

    def _look(self, first=False):
        rss = 0
        for pid in process_tree(self.pid):
            try:
                rss += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
                for task in os.scandir(f"/proc/{pid}/task"):
                    self._look_at(task, first)
            except (FileNotFoundError, ProcessLookupError):
                continue
        self.rss_bytes = max(self.rss_bytes or 0, rss)

    def _look_at(self, task, first):
        try:
            text = Path(task.path, "status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return
        count = sum(int(line.split()[1]) for line in text.splitlines()
                    if "ctxt_switches" in line)
        thread = self._threads.setdefault(task.name, _Thread(count if first else 0, count))
        thread.last = count

    def _read(self):
        usage = Usage()
        for number, pid in enumerate(process_tree(self.pid)):
            try:
                _add_process(usage, pid, with_ended_children=number == 0)
            except (FileNotFoundError, ProcessLookupError):
                continue
        if self._disk:
            (usage.disk_reads, usage.disk_read_bytes, usage.disk_writes,
             usage.disk_written_bytes) = _disk_counters(self._disk)
        return usage


def process_tree(pid):
    """The process and its children, which is where PostgreSQL does its work."""
    children = []
    for task in os.scandir(f"/proc/{pid}/task"):
        try:
            children += Path(task.path, "children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [int(pid)] + [int(child) for child in children]


def _add_process(usage, pid, with_ended_children):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    usage.cpu_s += sum(int(text) for text in
                       fields[11:15 if with_ended_children else 13]) / _TICKS
    counters = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    usage.read_bytes += int(counters["read_bytes"])
    usage.written_bytes += int(counters["write_bytes"])


def disk_of(folder):
    """The kernel's figures of the disk below a folder: a file, or None where there is no such disk
    (memory, a network, layers of others)."""
    if folder is None:
        return None
    try:
        number = os.stat(folder).st_dev
    except OSError:
        return None
    path = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")
    return path if path.exists() else None


def _disk_counters(path):
    """Reads, bytes read, writes and bytes written."""
    fields = [int(text) for text in path.read_text().split()]
    return fields[0], fields[2] * SECTOR, fields[4], fields[6] * SECTOR
