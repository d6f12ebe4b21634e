# SPDX-License-Identifier: GPL-2.0-only
"""--mysql VERSION of the scripts: which server, from where, and where it is built."""
import os
import subprocess
import sys

import pytest

from rowantools.line_tests import require_equal
from rowantools.paths import ROOT
from rowantools.private_apt import DEBIAN, UBUNTU

_SOURCE = f'. "{ROOT}/scripts/lib/server_line.sh"; printf "%s" "${{ROWAN_MYSQL_LINE-}}"; ' \
          'printf "|%s" "$@"'


def _parsed(shell, *arguments):
    result = subprocess.run([shell, "-c", _SOURCE, shell, *arguments], capture_output=True,
                            text=True, env={"PATH": os.environ["PATH"]})
    return result.stdout if result.returncode == 0 else result.stderr


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_option_is_taken_out_of_the_arguments(shell):
    require_equal(_parsed(shell, "a b", "--mysql", "8.4", "c"), "8.4|a b|c")
    require_equal(_parsed(shell, "--mysql=8.4", "", "c"), "8.4||c")
    require_equal(_parsed(shell, "x", "--", "--mysql", "8.4"), "|x|--|--mysql|8.4")
    require_equal(_parsed(shell, "x", "y"), "|x|y")
    require_equal("--mysql wants a version" in _parsed(shell, "x", "--mysql"), True)


def _paths(line):
    program = ("from rowantools import mysql_tree, paths; "
               "print(paths.BUILD, mysql_tree.PRIVATE_PREFIX)")
    environment = {name: value for name, value in os.environ.items() if name != "ROWAN_BUILD_DIR"}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**environment, "ROWAN_MYSQL_LINE": line,
                               "PYTHONPATH": str(ROOT / "scripts/lib")}).stdout.split()


def test_each_line_has_folders_of_its_own():
    mysql = (ROOT / ".mysql").resolve()
    require_equal(_paths(""), [str(ROOT / "build"), str(mysql / "prefix")])
    require_equal(_paths("9.7"), _paths(""))
    require_equal(_paths("8.4"), [str(ROOT / "build-8.4"), str(mysql / "8.4/prefix")])


def test_an_unknown_line_is_refused_with_a_sentence():
    result = subprocess.run([sys.executable, "-m", "rowantools.setup"], capture_output=True,
                            text=True, env={**os.environ, "ROWAN_MYSQL_LINE": "5.7",
                                            "PYTHONPATH": str(ROOT / "scripts/lib")})
    require_equal((result.returncode, result.stdout),
                  (1, "setup: Rowan is not built for MySQL 5.7; its lines are 9.7, 8.4\n"))


def test_each_archive_has_its_own_mirror(tmp_path):
    (tmp_path / "sources.list").write_text("deb http://mirror/debian bookworm main\n"
                                           "deb http://mirror/ubuntu/ noble main\n")
    require_equal((DEBIAN.uri(tmp_path), UBUNTU.uri(tmp_path)),
                  ("http://mirror/debian", "http://mirror/ubuntu"))
