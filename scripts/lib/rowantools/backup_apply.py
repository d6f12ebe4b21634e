# SPDX-License-Identifier: GPL-2.0-only
"""Puts an incremental backup onto a full one, and reads backups through.

Cut short, --apply can be run again: until its last step, which is Rowan's, the full backup has no
control file, so no server starts on it, and the incremental one is only read."""
import os
import shutil

from .backup_files import run_tool, sync, wrong_sums, write_sums
from .paths import UserError
from .progress import Step, say

_CONTROL = "rowan.control"
_MANIFEST = "rowan.backup"


def base_folder(backup):
    """Where a backup has its Rowan files."""
    full = backup / "data" / "rowan"
    return full if full.is_dir() else backup / "rowan"


def left_out(folder):
    """Names of the tables that a backup does not have."""
    lines = (folder / _MANIFEST).read_text(errors="surrogateescape").splitlines()
    return [line.split(" ", 2)[2] for line in lines if line.startswith("left_out ")]


def cloned(folder):
    """How many tablespaces share their blocks with the server's, and how many there are."""
    lines = (folder / _MANIFEST).read_text(errors="surrogateescape").splitlines()
    kinds = [line.split(" ", 1)[0] for line in lines]
    return kinds.count("clone"), kinds.count("clone") + kinds.count("space")


def apply_increment(full, increment, information):
    source, target = increment / "rowan", full / "data" / "rowan"
    if not (source / _MANIFEST).is_file() or not (increment / information).is_file():
        raise UserError(f"{increment} holds no incremental backup")
    if not target.is_dir() or not (full / information).is_file():
        raise UserError(f"{full} holds no full backup")
    if not run_tool("check", target, source):
        raise UserError(f"{increment} does not go onto {full}")
    (target / _CONTROL).unlink(missing_ok=True)
    sync(target)
    _replace_innodb(increment / "data", full / "data")
    shutil.copyfile(increment / information, full / information)
    write_sums(full)
    if not run_tool("apply", target, source):
        raise UserError(f"{increment} could not be put onto {full}; run this again when the cause "
                        "is removed")


def verify(backups):
    """A full backup and what is incremental to it, in order; or any single one. Raises UserError
    when something is wrong with one of them."""
    good, before = True, None
    for backup in backups:
        folder = base_folder(backup)
        if not folder.is_dir():
            raise UserError(f"{backup} holds no backup")
        good = run_tool("verify", folder, *([before] if before else [])) and good
        with Step(f"reading InnoDB's files of {backup}"):
            wrong = wrong_sums(backup)
        for sentence in wrong or []:
            print(sentence, flush=True)
        if wrong is None:
            say(f"backup: WARNING: an earlier version made {backup}, without checksums of InnoDB's "
                "files")
        good = good and not wrong
        before = folder
    if not good:
        raise UserError("something is wrong, see above")
    say("backup: every file is as it was written")


def _replace_innodb(source, target):
    for entry in target.iterdir():
        if entry.name == "rowan":
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            os.unlink(entry)
    shutil.copytree(source, target, dirs_exist_ok=True)
