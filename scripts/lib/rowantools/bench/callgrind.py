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
# User threads that spin while the log is written would count for as long as valgrind lets them.
OPTIONS = ("--innodb-log-spin-cpu-abs-lwm=4294967295", "--loose-rowan-log-sync-method=fdatasync")


def require():
    """UserError with what to install."""
    missing = [name for name in _PROGRAMS if not shutil.which(name)]
    if missing:
        raise UserError(f"{missing[0]} is missing; instructions are counted below valgrind: "
                        "apt-get install valgrind")


def _launcher(folder):
    """The words before a server's command line. Counts and valgrind's log come into `folder`."""
    return ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--toggle-collect={_FUNCTION}",
            "--fair-sched=try", f"--callgrind-out-file={folder / 'counts'}",
            f"--log-file={folder / 'valgrind.log'}"]


class Counter:
    """Counts of the private server of a session, which is made before that starts. For one
    thread."""

    def __init__(self, session):
        self._session, self._folder = session, session.folder / "counts"
        self._folder.mkdir()
        session.request.conditions.launcher = _launcher(self._folder)

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
        found = re.search(r"^totals: (\d+)", new[0].read_text(errors="replace"), re.MULTILINE)
        if not found:
            raise UserError(f"{new[0].name} of callgrind has no totals")
        new[0].unlink()
        return answer, int(found.group(1))

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
