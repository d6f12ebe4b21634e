# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/cluster vitess works out for itself: halves of shards, waiting, daemons."""
import json
import sys

import pytest

from rowantools.line_tests import require_equal
from rowantools.paths import UserError
from rowantools.server import free_port
from rowantools.vitess import reshard
from rowantools.vitess.daemon import Daemon
from rowantools.vitess.reshard import halves, vdiff


@pytest.mark.parametrize("shard,parts", [
    ("-", ("-80", "80-")), ("-80", ("-40", "40-80")), ("80-", ("80-c0", "c0-")),
    ("40-80", ("40-60", "60-80")), ("c0-", ("c0-e0", "e0-")), ("-02", ("-01", "01-02"))])
def test_halves_of_a_shard(shard, parts):
    require_equal(halves(shard), parts)


def test_a_shard_of_one_key_has_no_halves():
    with pytest.raises(UserError):
        halves("01-02")


class _SlowVDiff:
    """A Vitess whose VDiff reports these numbers of rows, the last one for ever; and a clock that
    goes on by ten minutes a look."""

    def __init__(self, *rows):
        self._rows, self._clock_s = list(rows), 0

    def control(self, *arguments):
        if "create" in arguments:
            return ""
        self._clock_s += 600
        rows = self._rows.pop(0) if len(self._rows) > 1 else self._rows[0]
        return json.dumps({
            "State": "completed" if rows == 5 else "started", "HasMismatch": False,
            "TableSummary": {"t": {"RowsCompared": rows}}, "Progress": {"ETA": self._clock_s}})

    def monotonic(self):
        return self._clock_s

    def sleep(self, seconds):
        pass


def test_a_comparison_may_take_long_while_it_goes_on(monkeypatch):
    cluster = _SlowVDiff(0, 1, 1, 2, 3, 4, 5)
    monkeypatch.setattr(reshard, "time", cluster)
    require_equal(vdiff(cluster, "k", "w"), [("t", 5)])


def test_a_comparison_that_stands_still_is_given_up(monkeypatch):
    cluster = _SlowVDiff(0, 1)
    monkeypatch.setattr(reshard, "time", cluster)
    with pytest.raises(UserError, match="VDiff has not gone on"):
        vdiff(cluster, "k", "w")


def test_a_daemon_starts_once_and_ends(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    daemon = Daemon("web", tmp_path, command, f"http://127.0.0.1:{port}/missing")
    require_equal(daemon.pid(), 0)
    daemon.start()
    daemon.wait_until_ready()
    pid = daemon.pid()
    daemon.start()
    require_equal(Daemon("web", tmp_path, command, "").pid(), pid)
    require_equal(Daemon("web", tmp_path, [*command, "other"], "").pid(), 0)
    daemon.stop()
    require_equal(daemon.pid(), 0)


def test_a_daemon_that_ends_at_once_shows_its_log(tmp_path):
    daemon = Daemon("bad", tmp_path, [sys.executable, "-c", "print('no luck')"],
                    f"http://127.0.0.1:{free_port()}/")
    daemon.start()
    with pytest.raises(UserError, match="no luck"):
        daemon.wait_until_ready()
