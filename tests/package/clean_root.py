# SPDX-License-Identifier: GPL-2.0-only
"""A clean Debian with a MySQL server in a folder of its own, entered with chroot."""
import os
import shutil
import subprocess

import pytest

from rowantools.line_tests import Failure
from rowantools.package.contents import fresh_folder
from rowantools.package.product import product
from rowantools.paths import BUILD
from rowantools.private_apt import debian_archive_uri

_FOLDER = BUILD / "package-tests"
_PACKAGES = "mysql-server,mysql-client,python3"
# Where processes have a name space of their own, none outlives its step.
_ENTER = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
_PROLOGUE = """\
set -eu
mount -t proc proc /proc
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive
start() {
  mkdir -p /run/mysqld && chown mysql:mysql /run/mysqld
  : >/var/log/mysql/error.log
  mysqld --user=mysql --daemonize --skip-networking --mysqlx=OFF --pid-file=/run/mysqld/pid "$@" ||
    { cat /var/log/mysql/error.log >&2; return 1; }
}
stop() {
  mysqladmin shutdown
  while [ -e /run/mysqld/pid ]; do sleep 0.1; done
}
"""


def missing_here():
    """Why this machine cannot have one, or nothing."""
    if os.getuid() != 0:
        return "a clean root folder needs root"
    for program in ("mmdebstrap", "unshare"):
        if not shutil.which(program):
            return f"there is no {program}"
    return None


class CleanRoot:
    """`run` runs a shell script inside; the archive it is unpacked from is made once."""

    def __init__(self, name):
        if missing_here():
            pytest.skip(missing_here())
        self.folder = fresh_folder(_FOLDER / name)
        subprocess.run(["tar", "-C", str(self.folder), "-xf", str(_archive())], check=True)
        server = self.run("mysqld --version").split(" Ver ")[1].split()[0]
        if server != product().server:
            pytest.skip(f"Debian's archive has MySQL {server} now, and the plugin is for "
                        f"{product().server}: scripts/setup in a new checkout")

    def run(self, script, may_fail=False):
        """What it prints, error messages included."""
        result = subprocess.run([*_ENTER, "chroot", str(self.folder), "bash", "-c",
                                 _PROLOGUE + script], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode and not may_fail:
            raise Failure(f"{script}\n{result.stdout[-3000:]}")
        return result.stdout

    def put(self, path):
        shutil.copyfile(path, self.folder / path.name)
        return f"/{path.name}"

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def _archive():
    _FOLDER.mkdir(parents=True, exist_ok=True)
    path = _FOLDER / f"debian-{product().server}.tar"
    if not path.is_file():
        partial = path.with_suffix(".partial.tar")
        result = subprocess.run(
            ["mmdebstrap", "--variant=minbase", f"--include={_PACKAGES}",
             "--aptopt=Acquire::Check-Valid-Until \"false\"", "sid", str(partial),
             debian_archive_uri()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            pytest.skip(f"no clean root can be made here: {result.stdout.strip()[-300:]}")
        partial.rename(path)
    return path
