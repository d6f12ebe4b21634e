# SPDX-License-Identifier: GPL-2.0-only
"""A server below valgrind's callgrind, which counts the instructions of its statements: exact where
a machine's rates are noise, and where it gives perf no counters.

Counted is what sessions' threads do between entering and leaving the server's dispatch_command, not
what other threads do. The server runs one thread at a time, and many times slower."""
import re
import shutil
import subprocess

from ..paths import UserError

_PROGRAMS = ("valgrind", "callgrind_control")
_FUNCTION = "dispatch_command*"
_CONTROL_LIMIT_S = 120
_CALLERS_MAX = 48    # of a stack: statements of mysqld are some 40 deep
# User threads that spin while the log is written would count for as long as valgrind lets them.
# Simulated: first-level caches and, as valgrind's last level, a core's own second level.
_CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64")
_MISSES = {"i1_misses": ("I1mr",), "d1_misses": ("D1mr", "D1mw"),
           "l2_misses": ("ILmr", "DLmr", "DLmw")}
_OPTIONS = ("--innodb-log-spin-cpu-abs-lwm=4294967295", "--loose-rowan-log-sync-method=fdatasync")


def prepare(options):
    """The command's servers get what counting needs; UserError with what is to be installed."""
    missing = [name for name in _PROGRAMS if not shutil.which(name)]
    if missing:
        raise UserError(f"{missing[0]} is missing; instructions are counted below valgrind: "
                        "apt-get install valgrind")
    options.server_option = options.server_option + [f"mysql:{option}" for option in _OPTIONS]


def _launcher(folder, callers, *more):
    """The words before a server's command line. Counts and valgrind's log come into `folder`."""
    return ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--toggle-collect={_FUNCTION}",
            "--fair-sched=try", f"--separate-callers={callers}",
            f"--callgrind-out-file={folder / 'counts'}", f"--log-file={folder / 'valgrind.log'}",
            *more]


class Counter:
    """Counts of the private server of a session, which is made before that starts; of each stack
    (`stacks`, after count) rather than function `with_callers`; of misses of caches (`misses`, by
    metric), with a cache simulated, `with_caches`. For one thread."""

    def __init__(self, session, with_callers=False, with_caches=False):
        self._session, self._folder = session, session.folder / "counts"
        self._folder.mkdir()
        session.request.conditions.launcher = _launcher(
            self._folder, _CALLERS_MAX if with_callers else 0, *(_CACHES if with_caches else ()))
        self.stacks, self.misses = {}, {}

    def switch_on(self):
        """From here on the server is slow; until then nothing is counted."""
        self._control("--instr=on")

    def count(self, work):
        """(what `work()` returns, instructions of all statements meanwhile)"""
        self._control("--zero")
        answer = work()
        before = set(self._dumps())
        self._control("--dump")
        new = [path for path in self._dumps() if path not in before]
        if len(new) != 1:
            raise UserError(f"callgrind left {len(new)} counts instead of one, see "
                            f"{self._folder / 'valgrind.log'}")
        text = new[0].read_text(errors="replace")
        totals = _totals(text)
        if not totals:
            raise UserError(f"{new[0].name} of callgrind has no totals")
        new[0].unlink()
        self.stacks = folded(text)
        self.misses = {metric: sum(totals[event] for event in events)
                       for metric, events in _MISSES.items() if events[0] in totals}
        return answer, totals["Ir"]

    def _dumps(self):
        return self._folder.glob("counts.*")

    def _control(self, option):
        result = subprocess.run(["callgrind_control", option,
                                 str(self._session.targets[0].pid)],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=_CONTROL_LIMIT_S)
        if result.returncode or "OK" not in result.stdout:
            raise UserError(f"callgrind_control {option} does not reach the server: "
                            + (result.stderr or result.stdout).strip()[-200:])


def _totals(text):
    """{event: how often} of a dump; empty where it has none."""
    events, totals = (re.search(rf"^{word}: (.*)", text, re.MULTILINE)
                      for word in ("events", "totals"))
    if not events or not totals:
        return {}
    # Trailing zeros are left out.
    counts = [int(count) for count in totals.group(1).split()]
    names = events.group(1).split()
    return dict(zip(names, counts + [0] * (len(names) - len(counts))))


def folded(text):
    """{"outer;...;inner": instructions of its own} of a dump; a function is named with its callers,
    as inner'...'outer."""
    names, stacks, current, skipped = {}, {}, None, False
    for line in text.splitlines():
        named = re.match(r"c?fn=\((\d+)\)(?: (.*))?", line)
        if named:
            number, name = named.groups()
            if name is not None:
                names[number] = ";".join(reversed(name.replace(";", ",").split("'")))
            if line.startswith("fn="):
                current = names[number]
        elif line.startswith("calls="):
            skipped = True    # the line that follows is what the callee has cost
        elif re.match(r"[+*\-\d]", line):
            cost = line.split()
            if not skipped and len(cost) > 1 and current:
                stacks[current] = stacks.get(current, 0) + int(cost[1])
            skipped = False
    return stacks
