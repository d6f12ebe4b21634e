# SPDX-License-Identifier: GPL-2.0-only
"""The container: built, started with an empty data directory, again with its tables. Long."""
import os
import shutil
import subprocess
import time

import pytest

from rowantools.line_tests import Failure, require_equal
from rowantools.package.container import podman
from rowantools.paths import BUILD, ROOT, UserError

pytestmark = pytest.mark.skipif(os.environ.get("ROWAN_TEST_LONG") != "1",
                                reason="building a container: ask for it with --long")
_FOLDER = BUILD / "package-tests" / "container"
# Where this is a container itself, limits cannot be raised, nor name spaces made of all kinds.
_HERE = ["--privileged", "--network=none", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]
_READY_S = 120


def _podman(*arguments, may_fail=False):
    result = subprocess.run([*podman(), *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode and not may_fail:
        raise Failure(f"podman {arguments}: {result.stdout[-2000:]}")
    return result.stdout.strip()


@pytest.fixture(scope="module")
def image():
    for program in ("podman", "mmdebstrap"):
        if not shutil.which(program):
            pytest.skip(f"there is no {program}")
    runtime = ["--runtime=runc"] if shutil.which("runc") else []
    os.environ["ROWAN_PODMAN"] = " ".join(
        ["podman", f"--root={_FOLDER}/images", f"--runroot={_FOLDER}/run", "--storage-driver=vfs",
         "--cgroup-manager=cgroupfs", *runtime])
    result = subprocess.run([str(ROOT / "scripts/package"), "container", "--no-build", "--target",
                             str(_FOLDER / "target")], capture_output=True, text=True)
    require_equal(result.returncode, 0, result.stderr[-2000:])
    name = result.stderr.strip().splitlines()[-1].removeprefix("package: image ")
    try:
        probe = _podman("run", "--rm", *_HERE, "--entrypoint", "true", name, may_fail=True)
        if probe:
            pytest.skip(f"podman cannot run here: {probe[-300:]}")
        yield name
    finally:
        _podman("volume", "rm", "--force", "rowan-test", may_fail=True)
        _podman("rmi", "--all", "--force", may_fail=True)
        shutil.rmtree(_FOLDER, ignore_errors=True)


def _start(image, *options):
    name = _podman("run", "--detach", *_HERE, "--volume", "rowan-test:/var/lib/mysql", *options,
                   image)
    deadline = time.monotonic() + _READY_S
    while "ready for connections" not in _podman("logs", name):
        if time.monotonic() > deadline or "true" not in _podman(
                "inspect", "--format", "{{.State.Running}}", name):
            raise Failure(_podman("logs", name)[-2000:])
        time.sleep(0.2)
    return name


def _sql(name, statement):
    return _podman("exec", name, "mysql", "-N", "-e", statement)


def test_a_container_keeps_its_tables(image):
    said = _podman("run", "--rm", *_HERE, image, may_fail=True)
    require_equal("set MYSQL_ROOT_PASSWORD" in said, True, said)
    first = _start(image, "--env", "MYSQL_ROOT_PASSWORD=it's 9\\7")
    _sql(first, "CREATE DATABASE d")
    _sql(first, "CREATE TABLE d.t (id INT PRIMARY KEY) ENGINE=ROWAN")
    _sql(first, "INSERT INTO d.t VALUES (1), (2), (3)")
    require_equal(_podman("exec", "--env", "MYSQL_PWD=it's 9\\7", first, "mysql", "-N",
                          "--host=127.0.0.1", "-e", "SELECT CURRENT_USER()"), "root@%")
    require_equal(_sql(first, "SELECT COUNT(*) FROM rowan_sys.metrics") != "0", True, "the views")
    _podman("stop", "--time=60", first)
    require_equal("Shutdown complete" in _podman("logs", first), True, "it stops in order")
    second = _start(image)
    require_equal(_sql(second, "SELECT SUM(id) FROM d.t"), "6")
    _podman("stop", "--time=60", second)
    _podman("rm", "--force", first, second)
