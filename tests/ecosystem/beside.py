# SPDX-License-Identifier: GPL-2.0-only
"""Something that a session does again and again while a tool works."""
import threading


class Beside:
    """While entered, step() runs on a thread of its own; what it raises is raised at the end."""

    def __init__(self, t):
        self.client, self.count = t.client(), 0
        self._stop, self._failures = threading.Event(), []

    def step(self):
        raise NotImplementedError

    def _loop(self):
        try:
            while not self._stop.is_set():
                self.step()
                self.count += 1
        except BaseException as error:  # noqa: B902 - handed to whoever entered
            self._failures.append(error)

    def __enter__(self):
        self._thread = threading.Thread(target=self._loop)
        self._thread.start()
        return self

    def __exit__(self, *ignored):
        self._stop.set()
        self._thread.join()
        if self._failures:
            raise self._failures[0]
