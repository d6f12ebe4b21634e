# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/package makes of an existing plugin: contents, control fields, equal bytes."""
import gzip
import re
import shutil
import subprocess
import tarfile

import pytest

from rowantools.line_tests import require_equal, require_none
from rowantools.package.contents import OPTION_FILE, PLUGIN
from rowantools.package.deb import VENDORS
from rowantools.package.product import product
from rowantools.paths import BUILD, ROOT, plugin_path

_FOLDER = BUILD / "package-tests"
_VERSION = "0.2.0+test-1"


def _package(kind, name):
    folder = _FOLDER / f"{name}-{kind}"
    shutil.rmtree(folder, ignore_errors=True)
    result = subprocess.run([str(ROOT / "scripts/package"), kind, "--no-build", "--target",
                             str(folder), "--version", _VERSION], capture_output=True, text=True)
    require_equal(result.returncode, 0, result.stdout + result.stderr)
    paths = [path for path in folder.iterdir() if path.suffix in (".deb", ".gz")]
    require_equal(len(paths), 1, f"files in {folder}")
    return paths[0]


@pytest.fixture(scope="module")
def made():
    for program in ("strip", "dpkg-deb", "dpkg-shlibdeps"):
        if not shutil.which(program):
            pytest.skip(f"there is no {program} (packages binutils, dpkg, dpkg-dev)")
    if not plugin_path().is_file():
        pytest.skip(f"there is no {plugin_path()}")
    if product().vendor not in VENDORS:
        pytest.skip(f"the server is of {product().vendor}, not of {' or '.join(VENDORS)}")
    return _package("deb", "one"), _package("tarball", "one")


def _fields(deb):
    text = subprocess.run(["dpkg-deb", "--field", str(deb)], capture_output=True, text=True).stdout
    return dict(re.findall(r"^([\w-]+): (.*)$", text, re.MULTILINE))


def _unpacked(deb):
    folder = _FOLDER / "unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["dpkg-deb", "--raw-extract", str(deb), str(folder)], check=True)
    return folder


def test_the_package_names_its_server_and_what_it_needs(made):
    deb, wanted = made[0], product()
    fields = _fields(deb)
    require_equal(fields["Package"], wanted.name)
    require_equal(fields["Version"], _VERSION)
    require_equal(fields["Pre-Depends"], f"mysql-server-core (= {wanted.server})")
    libraries = [name.split()[0] for name in fields["Depends"].split(", ")]
    require_equal(libraries, ["libc6", "libgcc-s1", "libstdc++6", "python3:any"])


def test_it_holds_what_an_operator_needs(made):
    folder, name = _unpacked(made[0]), product().name
    missing = [path for path in (
        PLUGIN, OPTION_FILE, "usr/bin/rowan-bench", "usr/bin/rowan-backup",
        "usr/bin/rowan-mysql-backup", f"usr/share/{name}/rowan_sys.sql",
        *(f"usr/share/man/man1/{page}.1.gz" for page in
          ("rowan-bench", "rowan-backup", "rowan-mysql-backup")),
        *(f"usr/share/doc/{name}/{page}" for page in
          ("copyright", "changelog.gz", "changelog.Debian.gz", "docs/backup.md")))
        if not (folder / path).is_file()]
    require_none(missing, "files that the package lacks")
    option_file = (folder / OPTION_FILE).read_text()
    require_equal("loose-rowan = FORCE_PLUS_PERMANENT" in option_file, True, option_file)
    require_equal((folder / "DEBIAN/conffiles").read_text(), f"/{OPTION_FILE}\n")
    unfilled = [str(path) for path in folder.rglob("*") if path.is_file()
                and path.stat().st_size < 100_000 and re.search(rb"@[A-Z]+@", path.read_bytes())]
    require_none(unfilled, "files with names to fill in")


def test_its_programs_run_from_where_it_is_unpacked(made):
    folder = _unpacked(made[0])
    for program in ("rowan-bench", "rowan-backup", "rowan-mysql-backup"):
        result = subprocess.run([str(folder / "usr/bin" / program), "--help"], capture_output=True,
                                text=True, cwd="/")
        require_equal((result.returncode, program in result.stdout), (0, True), result.stderr)
        with gzip.open(folder / f"usr/share/man/man1/{program}.1.gz", "rt") as page:
            require_equal(page.readline().split()[1], program.upper())


def test_the_option_file_sets_what_exists(made):
    """The server ignores what it does not know behind `loose-`."""
    text = (_unpacked(made[0]) / OPTION_FILE).read_text()
    names = re.findall(r"^#?loose-rowan-([\w-]+) =", text, re.MULTILINE)
    source = (ROOT / "plugin/server/system_variables.cc").read_text()
    require_equal(len(names) >= 4, True, text)
    require_none([name for name in names if f"({name.replace('-', '_')}," not in source],
                 "settings that are not there")


def test_another_server_is_refused_with_a_sentence(made):
    """The check of the package's own script, with a mysqld that says another version."""
    script = _unpacked(made[0]) / "DEBIAN/preinst"
    programs = _FOLDER / "programs"
    programs.mkdir(exist_ok=True)
    for version, status in ((product().server, 0), ("9.7.99-1", 1)):
        mysqld = programs / "mysqld"
        mysqld.write_text(f"#!/bin/sh\necho 'mysqld  Ver {version} for Linux on x86_64 (x)'\n")
        mysqld.chmod(0o755)
        result = subprocess.run([str(script), "install"], capture_output=True, text=True,
                                env={"PATH": f"{programs}:/usr/bin:/bin"})
        require_equal(result.returncode, status, result.stderr)
        require_equal(result.stderr.count("\n"), status, result.stderr)
        require_equal(version in result.stderr, bool(status), result.stderr)


def test_the_same_sources_give_the_same_bytes(made):
    for path, kind in zip(made, ("deb", "tarball")):
        other = _package(kind, "two")
        require_equal(other.read_bytes() == path.read_bytes(), True, f"{kind}: the bytes are equal")
        total = path.with_name(path.name + ".sha256").read_text()
        require_equal(total, other.with_name(other.name + ".sha256").read_text())
        result = subprocess.run(["sha256sum", "--check", f"{path.name}.sha256"], cwd=path.parent,
                                capture_output=True, text=True)
        require_equal(result.returncode, 0, result.stderr)


def test_the_tarball_is_that_tree_with_its_installer(made):
    with tarfile.open(made[1]) as archive:
        members = archive.getmembers()
    top = {member.name.split("/")[0] for member in members}
    require_equal(len(top), 1, top)
    names = {member.name.split("/", 1)[1] for member in members}
    require_none(sorted({PLUGIN, OPTION_FILE, "install"} - names), "files that it lacks")
    require_equal({(member.uid, member.gid) for member in members}, {(0, 0)})


def test_lintian_has_nothing_to_say(made):
    if not shutil.which("lintian"):
        pytest.skip("there is no lintian (package lintian)")
    result = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning,info",
                             str(made[0])], capture_output=True, text=True)
    require_equal(result.returncode, 0, result.stdout + result.stderr)
