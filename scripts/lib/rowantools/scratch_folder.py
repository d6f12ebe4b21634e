# SPDX-License-Identifier: GPL-2.0-only
"""Where a program that measures has its server: a folder that goes when the program ends."""
import contextlib
import shutil
import tempfile
from pathlib import Path


def add_folder_option(parser):
    parser.add_argument("--dir", type=Path, help="folder for the server; default: a temporary one")


@contextlib.contextmanager
def scratch_folder(parser, options):
    """A new folder below --dir, named after the parser's program."""
    name = parser.prog.rpartition("/")[2]
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=options.dir))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
