# SPDX-License-Identifier: GPL-2.0-only
"""Puts an incremental backup onto a full one: docs/formats/backup.md has the bytes.

Cut short, it can be run again: until the last step the full backup has no control file, so no
server starts on it, and the incremental one is only read."""
import os
import shutil
import struct

from .paths import UserError

_MAGIC = b"RWDELTA1"
_HEADER = struct.Struct("<8sIIII16sQ")
_RUN = struct.Struct("<IIII")
_END, _PAGES, _ZEROS = 0, 1, 2
_CONTROL = "rowan.control"
_MANIFEST = "rowan.backup"
_CHUNK_BYTES = 4 << 20


def base_folder(backup):
    """Where a backup has its Rowan files."""
    full = backup / "data" / "rowan"
    return full if full.is_dir() else backup / "rowan"


def apply_increment(full, increment, information):
    source, target = increment / "rowan", full / "data" / "rowan"
    if not (source / _MANIFEST).is_file() or not (increment / information).is_file():
        raise UserError(f"{increment} holds no incremental backup")
    if not target.is_dir() or not (full / information).is_file():
        raise UserError(f"{full} holds no full backup")
    new, old = _read_manifest(source), _read_manifest(target)
    if new["instance"] != old["instance"]:
        raise UserError(f"{increment} and {full} are backups of different instances")
    if new["since"] > old["start"] or new["start"] < old["start"]:
        raise UserError(f"{increment} is since LSN {new['since']}, {full} is of LSN "
                        f"{old['start']}: apply the backup between them first, each only once")
    (target / _CONTROL).unlink(missing_ok=True)
    _replace_innodb(increment / "data", full / "data")
    for space, pages in new["spaces"].items():
        _apply_space(source, target, space, pages * new["page_size"], new)
    _remove_what_went(target, new["spaces"])
    for name in sorted(os.listdir(source)):
        if name.startswith("redo_") or name.endswith(".damaged"):
            shutil.copyfile(source / name, target / name)
    shutil.copyfile(increment / information, full / information)
    _sync_all(target)
    # With the control file the instance is whole. The manifest, which says which backup can be
    # applied next, is the full one's; it says afterwards that all pages are there.
    _replace_durably(source / _CONTROL, target / _CONTROL)
    _replace_durably(source / _MANIFEST, target / _MANIFEST)


def _read_manifest(folder):
    facts = {"spaces": {}}
    lines = (folder / _MANIFEST).read_text().splitlines()
    if not lines or lines[-1] != "complete" or lines[0] != "rowan-backup 1":
        raise UserError(f"{folder / _MANIFEST} is not whole, or of a newer version")
    for name, *values in (line.split() for line in lines[1:-1]):
        if name == "space":
            facts["spaces"][int(values[0])] = int(values[1])
        else:
            facts[name] = values[0] if name == "instance" else int(values[0])
    return facts


def _replace_innodb(source, target):
    for entry in target.iterdir():
        if entry.name == "rowan":
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    shutil.copytree(source, target, dirs_exist_ok=True)


def _apply_space(source, target, space, size_bytes, manifest):
    name = f"space_{space}.rws"
    if (source / name).is_file():  # it is new since the base
        shutil.copyfile(source / name, target / name)
        return
    delta = source / f"space_{space}.delta"
    with open(delta, "rb") as stream, open(target / name, "r+b") as file:
        _check_header(delta, stream.read(_HEADER.size), space, manifest)
        file.truncate(size_bytes)
        while True:
            run = stream.read(_RUN.size)
            if len(run) != _RUN.size or _RUN.unpack(run)[3] != crc32c(run[:12]):
                raise UserError(f"{delta} is damaged at offset {stream.tell()}")
            kind, first, count, _ = _RUN.unpack(run)
            if kind == _END:
                break
            file.seek(first * manifest["page_size"])
            _write_run(delta, stream, file, kind, count * manifest["page_size"])
        file.flush()
        os.fsync(file.fileno())


def _check_header(path, header, space, manifest):
    blank = header[:8] + b"\0\0\0\0" + header[12:]
    if len(header) != _HEADER.size or header[:8] != _MAGIC or \
            struct.unpack_from("<I", header, 8)[0] != crc32c(blank):
        raise UserError(f"{path} is damaged, or of a newer version")
    _, _, its_space, page_size, _, instance, _ = _HEADER.unpack(header)
    if its_space != space or page_size != manifest["page_size"] or \
            instance.hex() != manifest["instance"]:
        raise UserError(f"{path} does not belong to the backup around it")


def _write_run(path, stream, file, kind, missing):
    while missing > 0:
        chunk = min(missing, _CHUNK_BYTES)
        data = stream.read(chunk) if kind == _PAGES else bytes(chunk)
        if len(data) != chunk:
            raise UserError(f"{path} ends in the midst of a page")
        file.write(data)
        missing -= chunk


def _remove_what_went(target, spaces):
    for name in os.listdir(target):
        number = name[len("space_"):-len(".rws")]
        gone = name.startswith("space_") and name.endswith(".rws") and int(number) not in spaces
        if gone or name.startswith("redo_"):
            (target / name).unlink()


def _sync_all(folder):
    for name in os.listdir(folder):
        _sync(folder / name)
    _sync(folder)


def _sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace_durably(source, target):
    draft = target.with_name(target.name + ".tmp")
    shutil.copyfile(source, draft)
    _sync(draft)
    os.rename(draft, target)
    _sync(target.parent)


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def crc32c(data):
    """Of some dozens of bytes."""
    value = 0xFFFFFFFF
    for byte in data:
        value = (value >> 8) ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF
