# SPDX-License-Identifier: GPL-2.0-only
"""How far a measurement is: what runs at what rate, and how long the rest takes."""
import time

from ..progress import Step, format_duration


class Progress:
    """Counts seconds of work against a plan made before. Used as a context."""

    def __init__(self, title, planned_s):
        self._step = Step(title)
        self._planned_s, self._done_s = max(planned_s, 0.001), 0.0
        self._current = ""

    def __enter__(self):
        self._start = time.monotonic()
        self._step.__enter__()
        return self

    def __exit__(self, *problem):
        self._step.update(detail="")
        return self._step.__exit__(*problem)

    def begin(self, what):
        self._current = what
        self.show()

    def show(self, rate=None, unit="queries/s"):
        told = f"  {rate:,.0f} {unit}" if rate is not None else ""
        percent = min(99, int(100 * self._done_s / self._planned_s))
        self._step.update(detail=f"{percent} %  {self._current}{told}  {self._left()}")

    def end(self, planned_s):
        """A piece that was planned to take `planned_s` is done."""
        self._done_s += planned_s
        self.show()

    def _left(self):
        """By how the plan has kept so far."""
        if self._done_s < 0.02 * self._planned_s:
            left = self._planned_s
        else:
            spent = time.monotonic() - self._start
            left = spent / self._done_s * max(0.0, self._planned_s - self._done_s)
        return f"{format_duration(left)} left,"
