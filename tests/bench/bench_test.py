# SPDX-License-Identifier: GPL-2.0-only
"""rowan-bench: every command runs, prints its table and refuses bad options with a sentence."""
import re
import subprocess
import tempfile
from pathlib import Path

from rowantools.line_tests import Failure, require_equal
from rowantools.paths import BUILD

_PROGRAM = BUILD / "bench" / "rowan-bench"
_METHODS = ("fsync", "fdatasync", "dsync", "direct_dsync", "uring")


def _bench(*arguments, status=0):
    """stdout of a run, or stderr of one that must fail."""
    result = subprocess.run([str(_PROGRAM), *arguments], capture_output=True, text=True,
                            timeout=120)
    if result.returncode != status:
        raise Failure(f"rowan-bench {' '.join(arguments)}: status {result.returncode}, "
                      f"{result.stderr[-500:]}")
    return result.stderr if status else result.stdout


def test_help_names_the_commands_and_their_options():
    text = _bench("--help")
    for command in ("sync", "commit"):
        if command not in text:
            raise Failure(f"--help does not name {command}")
        if "--dir" not in _bench(command, "--help"):
            raise Failure(f"{command} --help does not name --dir")


def test_bad_options_are_refused():
    for arguments, part in ((("nothing",), "no command"), (("sync",), "dir"),
                            (("commit", "--dir", "/tmp", "--method", "magic"), "magic"),
                            (("commit", "--dir", "/tmp", "--threads", "0"), "'0'"),
                            (("commit", "--dir", "/tmp", "--durability", "3"), "durability")):
        text = _bench(*arguments, status=2)
        if part not in text:
            raise Failure(f"{arguments}: {text!r} does not contain {part!r}")


def test_sync_measures_every_kind_of_file():
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        text = _bench("sync", "--dir", folder, "--seconds", "0.01", "--methods",
                      "fdatasync,dsync")
        require_equal(list(Path(folder).iterdir()), [], "files left behind")
    for kind in ("growing", "fallocated", "zero-filled", "recycled"):
        if f"\n{kind} file" not in text:
            raise Failure(f"no table of the {kind} file:\n{text}")
    rows = re.findall(r"^(?:fdatasync|dsync) +(.*)$", text, re.MULTILINE)
    require_equal([len(row.split()) for row in rows], [16] * 8, "figures in a row")


def test_commit_measures_every_method():
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        text = _bench("commit", "--dir", folder, "--seconds", "0.1", "--threads", "1,4",
                      "--method", "all")
        require_equal(list(Path(folder).iterdir()), [], "files left behind")
    for method in _METHODS:
        rows = re.findall(rf"^{method} +(.*)$", text, re.MULTILINE)
        if any("refused" in row for row in rows):
            continue
        require_equal([row.split()[0] for row in rows], ["1", "4"], f"rows of {method}")
        if not all(float(row.split()[1]) > 0 for row in rows):
            raise Failure(f"{method} committed nothing:\n{text}")
