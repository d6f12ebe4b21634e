# SPDX-License-Identifier: GPL-2.0-only
"""The package in a clean Debian: installed, upgraded with tables in it, removed, put back; refused
where the server is another. Long: it fetches a Debian (250 MB).

ROWAN_TEST_OLD_PLUGIN names the plugin of the package that is upgraded; otherwise it is the same.
"""
import os
import shutil
import subprocess

import pytest

from clean_root import CleanRoot
from rowantools.line_tests import require_equal
from rowantools.package.contents import OPTION_FILE, fresh_folder, lay_out
from rowantools.package.deb import build_deb
from rowantools.package.product import Product, product
from rowantools.package.tarball import build_tarball
from rowantools.paths import BUILD

pytestmark = pytest.mark.skipif(os.environ.get("ROWAN_TEST_LONG") != "1",
                                reason="installing into a clean Debian: ask for it with --long")
_FOLDER = BUILD / "package-tests"
_OLD, _NEW = "0.1.9-1", "0.2.0-1"
_ROWS = "SELECT COUNT(*), SUM(id), MAX(v) FROM d.t"


def _build(builder, version, server=None):
    base = product(version)
    made = Product(version, server or base.server, base.vendor, base.epoch)
    place = fresh_folder(_FOLDER / "install-tree")
    lay_out(made, place)
    path = builder(made, place, _FOLDER)
    shutil.rmtree(place)
    return path


def _old_package(monkeypatch):
    if os.environ.get("ROWAN_TEST_OLD_PLUGIN"):
        monkeypatch.setenv("ROWAN_PLUGIN", os.environ["ROWAN_TEST_OLD_PLUGIN"])
    path = _build(build_deb, _OLD)
    monkeypatch.undo()
    return path


@pytest.fixture
def root():
    made = CleanRoot("root")
    yield made
    made.remove()


def _sql(statement):
    return f'mysql -N -e "{statement}" 2>&1'


def test_installed_upgraded_removed_and_put_back(root, monkeypatch):
    old, new = root.put(_old_package(monkeypatch)), root.put(_build(build_deb, _NEW))
    name = product().name
    said = root.run(f"dpkg -i {old}")
    require_equal(f"the server loads Rowan {_OLD} at its next start" in said, True, said)
    said = root.run("backup=/var/lib/mysql-files/backup\nstart\n" + "\n".join(map(_sql, (
        "SELECT load_option FROM information_schema.plugins WHERE plugin_name = 'ROWAN'",
        "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=ROWAN",
        "CREATE TABLE d.i (id INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO d.i VALUES (1)",
        "INSERT INTO d.t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
        "i < 1000) SELECT i, CONCAT('row ', i) FROM n", _ROWS))) +
        f"\nmysql </usr/share/{name}/rowan_sys.sql\n" + _sql("UNINSTALL PLUGIN rowan") +
        " || true\nrowan-mysql-backup $backup --socket /run/mysqld/mysqld.sock 2>&1\nstop\n"
        "rowan-mysql-backup --verify $backup 2>&1")
    require_equal(said.splitlines()[0], "FORCE_PLUS_PERMANENT")
    require_equal("1000\t500500\trow 999" in said, True, said)
    require_equal("ERROR 1702" in said, True, said)  # it is force_plus_permanent
    require_equal("every file is as it was written" in said, True, said)

    # A server that runs keeps the old library; its next start has the new one.
    said = root.run(f"start\ndpkg -i {new}\n{_sql(_ROWS)}\nstop\nstart\n{_sql(_ROWS)}\n"
                    f"{_sql('CHECK TABLE d.t')}\nmysql </usr/share/{name}/rowan_sys.sql\nstop\n"
                    f"dpkg -s {name} | grep ^Version")
    require_equal(said.count("1000\t500500\trow 999"), 2, said)
    require_equal("check\tstatus\tOK" in said and f"Version: {_NEW}" in said, True, said)

    said = root.run(f"dpkg -r {name}\nstart\n{_sql(_ROWS)} || true\n"
                    f"{_sql('SELECT id FROM d.i')}\nstop")
    require_equal("nothing in the data directory was touched" in said, True, said)
    require_equal("ERROR 1286 (42000) at line 1: Unknown storage engine" in said, True, said)
    require_equal(said.splitlines()[-1], "1", "the row of the InnoDB table")

    said = root.run(f"dpkg -i {new}\nstart\n{_sql(_ROWS)}\n{_sql('DROP DATABASE d')}\nstop\n"
                    f"dpkg -P {name}\nls /etc/mysql/mysql.conf.d\nstart\nstop")
    require_equal("1000\t500500\trow 999" in said and "rowan.cnf" not in said, True, said)


def test_another_server_is_refused(root):
    wrong = root.put(_build(build_deb, _NEW, "9.7.99-1"))
    said = root.run(f"dpkg -i {wrong}", may_fail=True)
    require_equal("pre-depends on mysql-server-core (= 9.7.99-1)" in said, True, said)
    said = root.run(f"dpkg -i --force-depends {wrong}", may_fail=True)
    require_equal("loads only into MySQL 9.7.99-1, and mysqld here is "
                  f"{product().server}; install the package" in said, True, said)
    said = root.run("test ! -e /usr/lib/mysql/plugin/ha_rowan.so\nstart\nstop")


def test_the_tarball_installs_beside_the_server(root):
    for server, status in (("9.7.99-1", 1), (None, 0)):
        archive = _build(build_tarball, _NEW, server)
        subprocess.run(["tar", "-C", str(root.folder), "-xf", str(archive)], check=True)
        folder = "/" + archive.name.removesuffix(".tar.gz")
        said = root.run(f"{folder}/install; echo status $?", may_fail=True)
        require_equal((f"only into MySQL {server}" in said) == bool(status), True, said)
    said = root.run(f"cp {folder}/{OPTION_FILE} /etc/mysql/mysql.conf.d/\nstart\n"
                    + _sql("CREATE DATABASE d; CREATE TABLE d.t (id INT) ENGINE=ROWAN; SELECT 7")
                    + "\nstop\n/usr/local/bin/rowan-mysql-backup --help | head -1")
    require_equal(said.splitlines()[0], "7", said)
    require_equal("usage: rowan-mysql-backup" in said, True, said)
