# SPDX-License-Identifier: GPL-2.0-only
"""Lays out a folder as the package installs it. The same product gives the same bytes: texts are
made from the sources alone, and each file has the time of the sources."""
import gzip
import os
import shutil
import subprocess
from pathlib import Path

from ..paths import BUILD, ROOT, UserError, plugin_path
from .man_page import man_page

PACKAGING = ROOT / "packaging"
OPTION_FILE = "etc/mysql/mysql.conf.d/rowan.cnf"
PLUGIN = "usr/lib/mysql/plugin/ha_rowan.so"
PROGRAMS = {"rowan-bench": BUILD / "bench" / "rowan-bench",
            "rowan-backup": BUILD / "tools" / "rowan-backup"}
# What of the scripts the backup of a running server is made of.
_BACKUP_MODULES = ("__init__", "backup", "backup_apply", "backup_files", "backup_locks",
                   "binlog_xa", "client", "paths", "progress")
_DOCUMENTS = ("README.md", "docs")


def lay_out(product, folder):
    """Fills an empty folder."""
    for name, source in {PLUGIN: plugin_path(),
                         **{f"usr/bin/{name}": path for name, path in PROGRAMS.items()}}.items():
        _stripped(source, folder / name, 0o644 if name == PLUGIN else 0o755)
    _script(product, "rowan-mysql-backup", folder / "usr/bin")
    _text(folder / OPTION_FILE, product.fill((PACKAGING / "rowan.cnf").read_text()))
    shared = folder / "usr/share" / product.name
    for module in _BACKUP_MODULES:
        _text(shared / "rowantools" / f"{module}.py",
              (ROOT / "scripts/lib/rowantools" / f"{module}.py").read_text())
    for path in sorted((ROOT / "tools/sys").glob("*.sql")):
        _text(shared / path.name, path.read_text())
    _man_pages(product, folder)
    _documents(product, folder / "usr/share/doc" / product.name)


def set_times(product, folder):
    """The last step: whatever is in the folder is as old as the sources."""
    for path in (folder, *sorted(folder.rglob("*"))):
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (product.epoch, product.epoch), follow_symlinks=False)


def _stripped(source, target, mode):
    if not source.is_file():
        raise UserError(f"there is no {source}: build it first")
    target.parent.mkdir(parents=True, exist_ok=True)
    result = subprocess.run(["strip", "--strip-unneeded", "--remove-section=.comment",
                             "-o", str(target), str(source)], capture_output=True, text=True)
    if result.returncode:
        raise UserError(f"strip {source}: {result.stderr.strip()}")
    target.chmod(mode)


def _text(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _script(product, name, folder):
    _text(folder / name, product.fill((PACKAGING / name).read_text()), 0o755)


def _compressed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    path.chmod(0o644)


def _man_pages(product, folder):
    pages = folder / "usr/share/man/man1"
    for name, subject, commands in (
            ("rowan-bench", "durable writes and commits, by method", ("sync", "commit")),
            ("rowan-backup", "the parts of a Rowan backup that need no server", ()),
            ("rowan-mysql-backup", "copies a running MySQL server with Rowan tables", ())):
        program = folder / "usr/bin" / name
        _compressed(pages / f"{name}.1.gz", man_page(product, program, subject, commands))


def _documents(product, folder):
    """Markdown as in the sources, for readers without a network; pictures stay away."""
    _text(folder / "copyright", product.fill((PACKAGING / "copyright").read_text()))
    _compressed(folder / "changelog.gz", (ROOT / "CHANGELOG.md").read_text())
    for name in _DOCUMENTS:
        source = ROOT / name
        for path in [source] if source.is_file() else sorted(source.rglob("*.md")):
            _text(folder / path.relative_to(ROOT), path.read_text())


def fresh_folder(path):
    shutil.rmtree(path, ignore_errors=True)
    Path(path).mkdir(parents=True)
    return Path(path)
