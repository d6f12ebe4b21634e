# SPDX-License-Identifier: GPL-2.0-only
"""Servers of others from Debian's archive, unpacked beside the private MySQL; no root is needed and
nothing on the machine is touched."""
import contextlib
import fcntl

from .. import setup
from ..paths import MYSQL
from ..private_apt import PrivateApt
from ..progress import Step


def provide(name, packages):
    """The folder with the unpacked packages and all they depend on; fetched once."""
    with alone(name) as folder:
        if not folder.is_dir():
            _fetch(folder, packages)
        setup.follow_a_move(folder)
    return folder


@contextlib.contextmanager
def alone(name):
    """The folder of that name below .mysql/, while no other process makes it."""
    MYSQL.mkdir(exist_ok=True)
    with open(MYSQL / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield MYSQL / name


def _fetch(folder, packages):
    apt = PrivateApt(MYSQL / f"{folder.name}.apt")
    with Step(f"fetching {', '.join(packages)} from Debian") as step:
        apt.prepare()
        apt.fetch(packages)
        setup.replace_folder(folder, lambda target: setup.unpack_programs(apt, target, step))
    apt.remove()
