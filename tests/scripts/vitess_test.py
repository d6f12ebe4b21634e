# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/cluster vitess works out for itself: halves of shards, daemons."""
import sys

import pytest

from rowantools.line_tests import require_equal
from rowantools.paths import UserError
from rowantools.server import free_port
from rowantools.vitess.daemon import Daemon
from rowantools.vitess.reshard import halves


@pytest.mark.parametrize("shard,parts", [
    ("-", ("-80", "80-")), ("-80", ("-40", "40-80")), ("80-", ("80-c0", "c0-")),
    ("40-80", ("40-60", "60-80")), ("c0-", ("c0-e0", "e0-")), ("-02", ("-01", "01-02"))])
def test_halves_of_a_shard(shard, parts):
    require_equal(halves(shard), parts)


def test_a_shard_of_one_key_has_no_halves():
    with pytest.raises(UserError):
        halves("01-02")


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
