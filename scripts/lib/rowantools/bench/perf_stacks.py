# SPDX-License-Identifier: GPL-2.0-only
"""Stacks of a server by perf: where its threads compute, sampled by a clock that any machine has,
and where sessions wait within a statement, from each switch away from a thread to the next one to
it. Folded as flame graphs have them: "outermost;...;innermost", with a count."""
import collections
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from .sampler import process_tree

_SAMPLES_PER_S = 499
_RECORDS = {"computing": ["-e", "cpu-clock", "-F", str(_SAMPLES_PER_S)],
            "waiting": ["-e", "context-switches", "-c", "1", "--switch-events"]}
# Functions that a session is in while it has a statement to do.
_STATEMENT = ("dispatch_command", "exec_simple_query", "exec_execute_message", "PortalRun",
              "finish_xact_command")
_HEAD = re.compile(r"(\S.*?)\s+(\d+)\s+(\d+\.\d+):\s*(\S.*)")
_FRAME = re.compile(r"\s+([0-9a-f]+) (.+)")
_KERNEL_FROM = 1 << 63
_KEPT_SHARE = 0.0005    # of all: less is summed up as (rest)


def why_not():
    """What hinders perf, in a sentence; nothing where it works."""
    if not shutil.which("perf"):
        return "perf is missing: apt-get install linux-perf."
    with tempfile.NamedTemporaryFile() as file:
        probe = subprocess.run(["perf", "record", "-q", "-g", *_RECORDS["computing"], "-o",
                                file.name, "--", "true"], capture_output=True, text=True)
    return "" if probe.returncode == 0 else \
        f"perf does not record here: {probe.stderr.strip().splitlines()[-1:]}"


class Stacks:
    """Of one server while the context is open; then `folded` is {"computing": {stack: samples},
    "waiting": {stack: microseconds}}."""

    def __init__(self, pid, folder):
        self._pid, self._folder, self._perfs = pid, folder, {}
        self.folded = {}

    def __enter__(self):
        pids = ",".join(map(str, process_tree(self._pid)))
        for name, words in _RECORDS.items():
            self._perfs[name] = subprocess.Popen(
                ["perf", "record", "-q", "-g", *words, "-p", pids, "-o", str(self._path(name))],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True)
        return self

    def __exit__(self, *ignored):
        for perf in self._perfs.values():
            perf.send_signal(signal.SIGINT)
        for perf in self._perfs.values():
            perf.wait()
        self.folded = {"computing": self._read("computing", computing),
                       "waiting": self._read("waiting", waiting, "--show-switch-events")}

    def _path(self, name):
        return Path(self._folder) / f"perf-{name}"

    def _read(self, name, fold, *more):
        result = subprocess.run(["perf", "script", "-i", str(self._path(name)), "-F",
                                 "comm,tid,time,event,ip,sym", "--no-inline", *more],
                                capture_output=True, text=True, errors="replace")
        self._path(name).unlink(missing_ok=True)
        return kept(fold(result.stdout))


def computing(text):
    """{stack: samples} of what perf script prints."""
    return collections.Counter(stack for _, _, _, stack in _events(text) if stack)


def waiting(text):
    """{stack: microseconds} between the switch that left a session's stack and its return."""
    waited, left = collections.Counter(), {}
    for thread, time_s, event, stack in _events(text):
        if "SWITCH IN" in event and thread in left:
            since, where = left.pop(thread)
            waited[where] += round((time_s - since) * 1e6)
        elif stack and any(frame in _STATEMENT for frame in stack.split(";")):
            left[thread] = time_s, stack
    return waited


def _events(text):
    """Yields (thread, seconds, event, folded stack) of each event; events are paragraphs."""
    head, frames = None, []
    for line in text.splitlines() + [""]:
        found = _HEAD.fullmatch(line.rstrip()) if line[:1].strip() else None
        if found or not line.strip():
            if head:
                yield (*head[1:], _folded(head[0], frames))
            head, frames = None, []
        if found:
            comm, thread, time_s, event = found.groups()
            head = re.sub(r"[-:]?[\d:/]+$", "", comm), thread, float(time_s), event
        elif head and _FRAME.match(line):
            frames.append(_frame(*_FRAME.match(line).groups()))


def _frame(address, name):
    name = re.sub(r"\+0x[0-9a-f]+$", "", name.strip()).replace(";", ",")
    return name + "_[k]" if int(address, 16) >= _KERNEL_FROM else name


def _folded(comm, frames):
    """The outermost frames without a name, below a thread's start, say nothing."""
    while frames and frames[-1] == "[unknown]":
        frames = frames[:-1]
    return ";".join([comm, *reversed(frames)]) if frames else ""


def kept(counts):
    """The stacks that are seen in a picture, the others as one."""
    total = sum(counts.values())
    found = {stack: count for stack, count in counts.items() if count >= _KEPT_SHARE * total}
    rest = total - sum(found.values())
    return dict(found, **({"(rest)": rest} if rest else {}))
