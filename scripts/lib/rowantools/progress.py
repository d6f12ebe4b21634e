# SPDX-License-Identifier: GPL-2.0-only
"""Progress display: one live line on a terminal, plain lines at a calm pace elsewhere.

Usage: `with Step("building", total=40) as step: step.update(7, "btree/node.cc")`.
A Step prints its name and duration when it ends; nothing is printed twice.
"""
import os
import shutil
import sys
import threading
import time

_PLAIN_INTERVAL_S = 15.0
_LIVE_INTERVAL_S = 0.2


def is_live():
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def format_duration(seconds):
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"


def say(text):
    """A plain line that never mixes with a live one."""
    if is_live():
        sys.stderr.write("\r\x1b[K")
    print(text, file=sys.stderr, flush=True)


class Step:
    """One named piece of work with an optional total; a thread keeps the display alive."""

    def __init__(self, name, total=0, quiet=False):
        self._name, self._total, self._quiet = name, total, quiet
        self._done, self._detail = 0, ""
        self._stop = threading.Event()
        self._thread = None

    def __enter__(self):
        self._start = time.monotonic()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self._stop.set()
        self._thread.join()
        if self._quiet and kind is None:
            if is_live():
                sys.stderr.write("\r\x1b[K")
            return False
        mark = "ok" if kind is None else "FAILED"
        detail = f", {self._detail}" if self._detail and kind is None and not self._total else ""
        say(f"[{mark}] {self._name} ({format_duration(self.elapsed())}{detail})")
        return False

    def elapsed(self):
        return time.monotonic() - self._start

    def update(self, done=None, detail=None, total=None):
        if done is not None:
            self._done = done
        if detail is not None:
            self._detail = detail
        if total is not None:
            self._total = total

    def _text(self):
        parts = [self._name]
        if self._total:
            percent = 100 * min(self._done, self._total) // self._total
            parts.append(f"{self._done}/{self._total} ({percent} %)")
        if self._detail:
            parts.append(self._detail)
        parts.append(format_duration(self.elapsed()))
        return "  ".join(str(part) for part in parts)

    def _loop(self):
        live = is_live()
        last_plain = time.monotonic()
        while not self._stop.wait(_LIVE_INTERVAL_S):
            if live:
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write("\r\x1b[K" + ("... " + self._text())[:width])
                sys.stderr.flush()
            elif time.monotonic() - last_plain >= _PLAIN_INTERVAL_S:
                last_plain = time.monotonic()
                print("... " + self._text(), file=sys.stderr, flush=True)
