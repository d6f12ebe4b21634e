# SPDX-License-Identifier: GPL-2.0-only
"""A Debian package from a laid-out folder."""
import gzip
import hashlib
import os
import subprocess
import tempfile
import time
from pathlib import Path

from ..paths import UserError
from .contents import OPTION_FILE, PACKAGING, set_times

VENDORS = ("Debian", "Ubuntu")
_SCRIPTS = ("preinst", "postinst", "postrm")
_DESCRIPTION = """\
transactional storage engine for MySQL, beside InnoDB
 Rowan keeps rows in B-trees that are updated in place, with a redo log,
 versions of rows in undo streams, and index entries with versions of their
 own, so that reads of an index alone never visit the row.
 .
 This package has the plugin for exactly MySQL
 @SERVER@,
 an option file that loads it, views for operators (rowan_sys), the backup
 programs and a program that measures durable writes."""


def build_deb(product, folder, target):
    """Adds control files to the folder; returns the package's path in the folder `target`."""
    if product.vendor not in VENDORS:
        raise UserError(f"the server is {product.server} of {product.vendor}: a package can name "
                        f"only the mysql-server-core of {' or '.join(VENDORS)}; for others there "
                        "is the tarball")
    architecture = _run(["dpkg", "--print-architecture"]).strip()
    _changelog(product, folder)
    overrides = folder / "usr/share/lintian/overrides" / product.name
    overrides.parent.mkdir(parents=True)
    overrides.write_text(product.fill((PACKAGING / "lintian-overrides").read_text()))
    control = folder / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(_control(product, folder, architecture))
    (control / "conffiles").write_text(f"/{OPTION_FILE}\n")
    (control / "md5sums").write_text(_sums(folder))
    for name in _SCRIPTS:
        path = control / name
        path.write_text(product.fill((PACKAGING / name).read_text()))
        path.chmod(0o755)
    set_times(product, folder)
    package = target / f"{product.name}_{product.version}_{architecture}.deb"
    _run(["dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "--build", str(folder),
          str(package)], {"SOURCE_DATE_EPOCH": str(product.epoch)})
    return package


def _control(product, folder, architecture):
    files = [path for path in folder.rglob("*") if path.is_file()]
    size_kib = sum(-(-path.stat().st_size // 1024) for path in files)
    fields = {
        "Package": product.name, "Version": product.version, "Architecture": architecture,
        "Maintainer": product.maintainer, "Installed-Size": size_kib,
        "Pre-Depends": f"mysql-server-core (= {product.server})",
        "Depends": f"{_libraries(folder)}, python3:any",
        "Recommends": "mysql-server",
        "Section": "database", "Priority": "optional",
        "Description": product.fill(_DESCRIPTION)}
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def _libraries(folder):
    """What the programs and the plugin are linked with, by the packages of this machine."""
    programs = [str(path) for path in sorted(folder.rglob("*"))
                if path.is_file() and path.open("rb").read(4) == b"\x7fELF"]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "debian").mkdir()
        (Path(place) / "debian/control").write_text(
            "Source: rowan\n\nPackage: rowan\nArchitecture: any\n")
        # The plugin asks the server itself for most symbols: no library has them.
        text = _run(["dpkg-shlibdeps", "-O", "--warnings=0",
                     *(f"-e{path}" for path in programs)], cwd=place)
    return text.strip().removeprefix("shlibs:Depends=")


def _changelog(product, folder):
    when = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(product.epoch))
    text = (f"{product.name} ({product.version}) unstable; urgency=medium\n\n"
            f"  * Built for MySQL {product.server}; changelog.gz tells what is new.\n\n"
            f" -- {product.maintainer}  {when}\n")
    path = folder / "usr/share/doc" / product.name / "changelog.Debian.gz"
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    path.chmod(0o644)


def _sums(folder):
    lines = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and name.parts[0] not in ("DEBIAN", "etc"):
            lines.append(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {name}\n")
    return "".join(lines)


def _run(command, environment=None, cwd=None):
    try:
        result = subprocess.run(command, capture_output=True, text=True, cwd=cwd,
                                env={**os.environ, "LC_ALL": "C", **(environment or {})})
    except FileNotFoundError:
        raise UserError(f"there is no {command[0]}; Debian has it in dpkg or dpkg-dev")
    if result.returncode:
        raise UserError(f"{command[0]} failed: {result.stderr.strip()[-600:]}")
    return result.stdout
