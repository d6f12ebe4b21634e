# SPDX-License-Identifier: GPL-2.0-only
"""Files of an instance, and how tests damage them."""
import os

PAGE = 16384


def folder_of(server):
    return os.path.join(str(server.data), "rowan")


def damage(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0] ^ 0x10
        file.seek(offset)
        file.write(bytes([byte]))


def newest_space(server):
    names = [name for name in os.listdir(folder_of(server))
             if name.startswith("space_") and name.endswith(".rws")]
    return os.path.join(folder_of(server), max(names, key=lambda name: int(name[6:-4])))


def page_of(path, number):
    with open(path, "rb") as file:
        file.seek(number * PAGE)
        return file.read(PAGE)


def is_leaf(path, number):
    page = page_of(path, number)
    return page[4] == 3 and any(page[4000:6000])
