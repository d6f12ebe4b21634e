# SPDX-License-Identifier: GPL-2.0-only
"""scripts/setup: a private MySQL server, its source tree and sysbench under `.mysql/`.

Every part is built in a temporary folder and renamed when complete, so an interrupted run leaves
either nothing or the whole part; finished downloads are used again. No root is needed here.
"""
import argparse
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from . import mysql_tree, server_lines
from .paths import MYSQL, SERVER_HOME, UserError, run_main
from .private_apt import PrivateApt
from .progress import Step, say

_SERVER_PACKAGES = ["mysql-server-core", "mysql-client-core", "libmysqlclient-dev", "sysbench"]
_SOURCE_PACKAGE = "mysql-source"
_TESTSUITE_PACKAGE = "mysql-testsuite"
# Parts of the source tree that neither a plugin's build nor reading about the handler needs.
_SOURCE_LEFT_OUT = ["mysql-test", "storage/ndb", "router", "unittest", "builddir/router",
                    "builddir/unittest", "builddir/mysql-test"]
# Old data folders and dumps (290 MB) that only tests of InnoDB's own upgrades read.
_SUITES_LEFT_OUT = ["usr/lib/mysql-test/std_data/" + name for name in
                    ("instant_ddl", "upgrade", "bug36444172")]
_SPACE_WANTED_MB = 4096  # what is fetched and unpacked, a build and the servers of the tests
_LOCATION = ".unpacked-at"
_TESTSUITE_FOLDER = SERVER_HOME / "testsuite"


class Setup:
    """Knows which parts are missing and fetches just those."""

    def __init__(self, with_testsuite):
        self._apt = PrivateApt(SERVER_HOME / "apt", server_lines.archive())
        self._parts = []  # (target folder, packages, function that makes it from the archives)
        if not mysql_tree.user_prefix():
            self._parts.append((mysql_tree.PRIVATE_PREFIX, _SERVER_PACKAGES, unpack_programs))
        elif not _sysbench_at_hand():
            self._parts.append((mysql_tree.PRIVATE_TOOLS, ["sysbench"], unpack_programs))
        if not mysql_tree.user_source():
            self._parts.append((mysql_tree.PRIVATE_SOURCE, [_SOURCE_PACKAGE], _unpack_source))
        if with_testsuite:
            self._parts.append((_TESTSUITE_FOLDER, [_TESTSUITE_PACKAGE], _unpack_suites))

    def run(self):
        with _one_at_a_time():
            missing = [part for part in self._parts if not part[0].is_dir()]
            if missing:
                _warn_of_little_space()
                self._fetch_and_unpack(missing)
            for folder in (mysql_tree.PRIVATE_PREFIX, mysql_tree.PRIVATE_TOOLS, _TESTSUITE_FOLDER):
                follow_a_move(folder)
            tree = mysql_tree.find_tree()
            _provide_error_header(tree)
        return tree

    def _fetch_and_unpack(self, missing):
        if sum(1 for part in self._parts if part[0] in _VERSIONED) > len(
                [part for part in missing if part[0] in _VERSIONED]) > 0:
            say(f"setup: a part of {SERVER_HOME} is missing; fetching server and source together "
                "again, so that their versions agree")
            missing = self._parts
        # The suites want packages that cannot be installed beside sysbench's: each has its own.
        suites = [part for part in missing if part[0] == _TESTSUITE_FOLDER]
        for parts in ([part for part in missing if part not in suites], suites):
            if parts:
                self._fetch_together(parts)

    def _fetch_together(self, parts):
        packages = [name for part in parts for name in part[1]]
        with Step(f"reading the package lists of {server_lines.archive().title}"):
            self._apt.prepare()
        total_mb = self._apt.planned_bytes(packages) >> 20
        self._download(packages, total_mb)
        for target, names, unpack in parts:
            with Step(f"unpacking {', '.join(names)}") as step:
                replace_folder(target, lambda folder, u=unpack, s=step: u(self._apt, folder, s))
        self._apt.remove()

    def _download(self, packages, total_mb):
        with Step("downloading MySQL (MiB)", total=total_mb) as step:
            before_mb = self._apt.fetched_bytes() >> 20
            step.update(before_mb)
            stop = _watch(lambda: step.update(self._apt.fetched_bytes() >> 20))
            try:
                self._apt.fetch(packages)
            finally:
                stop()


_VERSIONED = (mysql_tree.PRIVATE_PREFIX, mysql_tree.PRIVATE_SOURCE)


@contextlib.contextmanager
def _one_at_a_time():
    """Two set-ups of one checkout at the same time take turns."""
    MYSQL.mkdir(exist_ok=True)
    with open(MYSQL / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _warn_of_little_space():
    free_mb = shutil.disk_usage(MYSQL).free >> 20
    if free_mb < _SPACE_WANTED_MB:
        say(f"setup: only {free_mb} MiB are free in {MYSQL}; fetching, building and testing take "
            f"about {_SPACE_WANTED_MB}")


def _watch(action, interval_s=0.5):
    """Calls `action` now and then in a thread; returns the function that stops it."""
    done = threading.Event()

    def loop():
        while not done.wait(interval_s):
            action()
    thread = threading.Thread(target=loop, daemon=True)
    thread.start()

    def stop():
        done.set()
        thread.join()
    return stop


def replace_folder(target, fill):
    """Fills a temporary folder beside `target`, then puts it in target's place."""
    temporary = target.with_name(target.name + ".partial")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    fill(temporary)
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)


def unpack_programs(apt, folder, step):
    """Unpacks every package but the source into one prefix and makes its programs start here."""
    archives = [path for path in sorted(apt.archives.glob("*.deb"))
                if not path.name.startswith(_SOURCE_PACKAGE + "_")]
    for number, archive in enumerate(archives):
        step.update(number, archive.name.split("_")[0], total=len(archives))
        _run(["dpkg", "-x", str(archive), str(folder)], f"unpacking {archive.name}")
    _make_programs_start(folder, folder.with_name(folder.name.replace(".partial", "")), step)


def _unpack_suites(apt, folder, step):
    unpack_programs(apt, folder, step)
    for name in _SUITES_LEFT_OUT:
        shutil.rmtree(folder / name, ignore_errors=True)


def _make_programs_start(folder, final, step):
    """Points each program at the dynamic loader and libraries that came with it."""
    loaders = sorted(folder.glob("usr/lib/*/ld-linux*.so.*"))
    if not loaders:
        raise UserError("the fetched packages hold no dynamic loader")
    loader = final / loaders[0].relative_to(folder)
    programs = [path for name in ("usr/bin", "usr/sbin", "usr/lib/mysql-test/bin",
                                  "usr/lib/postgresql/*/bin")
                for path in sorted(folder.glob(f"{name}/*")) if _needs_loader(path)]
    for number, program in enumerate(programs):
        step.update(number, f"patching {program.name}", total=len(programs))
        _patch(program, loader)
    (folder / _LOCATION).write_text(f"{final}\n")


def _patch(program, loader):
    """Replaces the file, never changes it: a copy of the checkout may share it by hard link."""
    patched = program.with_name(program.name + ".patched")
    _run(["patchelf", "--set-interpreter", str(loader), "--force-rpath", "--set-rpath",
          str(loader.parent), "--output", str(patched), str(program)], f"patching {program.name}")
    shutil.copymode(program, patched)
    patched.replace(program)


def follow_a_move(folder):
    """Programs name their loader by its full path: after a move of the checkout, patch again."""
    location = folder / _LOCATION
    if location.is_file() and location.read_text().strip() != str(folder):
        with Step("the checkout has moved; patching its programs") as step:
            _make_programs_start(folder, folder, step)


def _needs_loader(path):
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            return False
    probe = subprocess.run(["patchelf", "--print-interpreter", str(path)], capture_output=True)
    return probe.returncode == 0


def _unpack_source(apt, folder, step):
    """Streams the source tarball out of its package, leaving out what no plugin needs."""
    archives = sorted(apt.archives.glob(_SOURCE_PACKAGE + "_*.deb"))
    if not archives:
        raise UserError(f"the package {_SOURCE_PACKAGE} was not fetched")
    inner = subprocess.run(["dpkg", "-c", str(archives[-1])], capture_output=True, text=True).stdout
    tarballs = [line.split()[-1] for line in inner.splitlines() if ".tar." in line]
    if len(tarballs) != 1:
        raise UserError(f"{archives[-1].name} holds {len(tarballs)} source tarballs instead of one")
    compression = "-J" if tarballs[0].endswith("xz") else "-z"
    left_out = [f"--exclude=*/{name}" if "/" in name else f"--exclude=mysql-*/{name}"
                for name in _SOURCE_LEFT_OUT]
    step.update(detail="the source tree")
    pipeline = [["dpkg-deb", "--fsys-tarfile", str(archives[-1])],
                ["tar", "-xO", tarballs[0]],
                ["tar", "-x", compression, "--strip-components=1", "--anchored", "--wildcards",
                 "--no-wildcards-match-slash", *left_out, "-C", str(folder)]]
    _run_pipeline(pipeline, "unpacking the MySQL source")


def _run(command, what):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise UserError(f"{what} failed: {result.stderr.strip()[-400:]}")


def _run_pipeline(commands, what):
    processes, source = [], None
    for command in commands:
        last = command is commands[-1]
        process = subprocess.Popen(command, stdin=source, stdout=None if last else subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        if source:
            source.close()
        source = process.stdout
        processes.append(process)
    if any([process.wait() for process in processes]):
        raise UserError(f"{what} failed (disk full?)")


def _sysbench_at_hand():
    if (Path(mysql_tree.PRIVATE_PREFIX) / "usr/bin/sysbench").is_file():
        return True
    return shutil.which("sysbench") is not None


def _provide_error_header(tree):
    """The one generated header the packaged build folder lacks comes with libmysqlclient-dev."""
    if tree.source != mysql_tree.PRIVATE_SOURCE.resolve():
        return
    wanted = tree.source / "builddir/include/mysqld_error.h"
    have = mysql_tree.PRIVATE_PREFIX / "usr/include/mysql/mysqld_error.h"
    if not wanted.exists() and have.exists():
        shutil.copy(have, wanted)


def prepare(with_testsuite=False):
    """What scripts/test and scripts/bench call: everything in place and checked, as a MysqlTree."""
    tree = Setup(with_testsuite).run()
    tree.check()
    return tree


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/setup",
        description="Installs missing build packages (needs root only if some are missing) and "
                    "gets a private MySQL 9.7 server, its source tree and sysbench into .mysql/, "
                    "or with --mysql 8.4 one of that line into .mysql/8.4/. "
                    "Environment: ROWAN_MYSQL_PREFIX and ROWAN_MYSQL_SOURCE name a server and a "
                    "source tree of your own to use instead.")
    parser.add_argument("--with-testsuite", action="store_true",
                        help="also fetch MySQL's own test suites (340 MB) into .mysql/testsuite")
    parser.add_argument("--quiet", action="store_true", help="print nothing when all is in place")
    arguments = parser.parse_args()
    tree = prepare(arguments.with_testsuite)
    if not arguments.quiet:
        say(f"setup: MySQL {mysql_tree.dotted(tree.server_version())} at {tree.prefix}, "
            f"source at {tree.source}")
    return 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(run_main(main, "setup"))
