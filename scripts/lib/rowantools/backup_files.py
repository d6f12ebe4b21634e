# SPDX-License-Identifier: GPL-2.0-only
"""The files of a backup that are not Rowan's: their checksums, and that they are on the disk.

`backup.sums` has a line for each, as sha256sum writes and reads them, and ends with the checksum of
its own lines. Rowan's files have theirs in rowan.backup."""
import hashlib
import os
import shutil
import subprocess

from .paths import BUILD, UserError

SUMS = "backup.sums"
_CHUNK_BYTES = 4 << 20
_OWN = "# sha256 "


def run_tool(*arguments):
    """The program that reads and writes Rowan's part; False: something is wrong, and it said so."""
    built = BUILD / "tools" / "rowan-backup"
    program = str(built) if built.is_file() else shutil.which("rowan-backup")
    if program is None:
        raise UserError(f"there is no {built}, and no rowan-backup in PATH: build or install it")
    status = subprocess.run([program, *map(str, arguments)], check=False).returncode
    if status not in (0, 1):
        raise UserError(f"{program} ended with status {status}")
    return status == 0


def write_sums(folder):
    """Makes all files durable, and then their checksums."""
    lines = [f"{_digest(folder / name, durable=True)}  {name}\n" for name in _names(folder)]
    text = "".join(lines)
    text += _OWN + hashlib.sha256(_bytes(text)).hexdigest() + "\n"
    with open(folder / SUMS, "wb") as stream:
        stream.write(_bytes(text))
        stream.flush()
        os.fsync(stream.fileno())
    sync_folders(folder)


def wrong_sums(folder):
    """What is wrong, a sentence each; None where there are no checksums."""
    if not (folder / SUMS).is_file():
        return None
    content = (folder / SUMS).read_bytes()
    text, _, own = content.rpartition(_bytes(_OWN))
    if own != _bytes(hashlib.sha256(text).hexdigest() + "\n"):
        return [f"'{folder / SUMS}': its checksum is wrong."]
    expected = {}
    for line in text.decode("utf-8", "surrogateescape").splitlines():
        digest, _, name = line.partition("  ")
        expected[name] = digest
    found = set(_names(folder))
    wrong = [f"'{folder / name}': the backup has no such file." for name in found - set(expected)]
    for name, digest in expected.items():
        if name not in found:
            wrong.append(f"'{folder / name}': it is missing.")
        elif _digest(folder / name) != digest:
            wrong.append(f"'{folder / name}': its checksum is wrong.")
    return sorted(wrong)


def sync_folders(folder):
    """All names below the folder, and its own."""
    for path, _, _ in os.walk(folder):
        sync(path)
    sync(folder.parent)


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _names(folder):
    """Of the files that are not Rowan's, relative to the folder."""
    rowan = {folder / "rowan", folder / "data" / "rowan"}
    names = []
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if folder / os.path.relpath(path, folder) / name
                      not in rowan]
        names += [os.path.relpath(os.path.join(path, name), folder) for name in files]
    return sorted(name for name in names if name != SUMS)


def _digest(path, durable=False):
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
        if durable:
            os.fsync(stream.fileno())
    return digest.hexdigest()


def _bytes(text):
    return text.encode("utf-8", "surrogateescape")
