# SPDX-License-Identifier: GPL-2.0-only
"""An archive of a laid-out folder, with a script that installs it beside any server."""
import gzip
import platform
import tarfile

from .contents import PACKAGING, set_times


def build_tarball(product, folder, target):
    script = folder / "install"
    script.write_text(product.fill((PACKAGING / "install").read_text()))
    script.chmod(0o755)
    set_times(product, folder)
    name = f"{product.name}-{product.version}-linux-{platform.machine()}"
    path = target / f"{name}.tar.gz"
    with open(path, "wb") as stream, \
            gzip.GzipFile("", "wb", 9, stream, mtime=product.epoch) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in sorted(folder.rglob("*")):
            archive.add(entry, f"{name}/{entry.relative_to(folder)}", recursive=False,
                        filter=_as_root)
    return path


def _as_root(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry
