# SPDX-License-Identifier: GPL-2.0-only
"""scripts/package: a deb, a tarball or a container for the server that this checkout builds for."""
import argparse
import hashlib
import os
import sys
from pathlib import Path

from ..build import build
from ..mysql_tree import find_tree
from ..optimize import optimize
from ..paths import BUILD, run_main
from ..progress import Step, say
from .container import build_container
from .contents import fresh_folder, lay_out
from .deb import build_deb
from .product import product
from .tarball import build_tarball

_TARGETS = ["ha_rowan", "rowan-bench", "rowan-backup"]
_BUILDERS = {"deb": build_deb, "tarball": build_tarball}


def _parse():
    parser = argparse.ArgumentParser(
        prog="scripts/package",
        description="Packages Rowan for exactly the server that this checkout is built for; other "
                    "versions are refused when it is installed.")
    parser.add_argument("kind", choices=["deb", "tarball", "container"])
    parser.add_argument("--target", default=str(BUILD / "package"), metavar="FOLDER",
                        help="where it goes (default build/package)")
    parser.add_argument("--version", help="instead of the one that the sources tell")
    parser.add_argument("--no-build", action="store_true",
                        help="take plugin and programs as they are in the build folder")
    parser.add_argument("--optimize", action="store_true",
                        help="first build the plugin with a profile of itself under load, as "
                             "scripts/optimize does")
    parser.add_argument("--base", metavar="IMAGE", help="base of the container: an image of "
                        "Debian's unstable suite (default: made from the archive by mmdebstrap)")
    return parser.parse_args()


def _file(made, kind, target):
    place = fresh_folder(target / "tree")
    with Step(f"packing {made.name} {made.version}"):
        lay_out(made, place)
        path = _BUILDERS[kind](made, place, target)
    total = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_name(path.name + ".sha256").write_text(f"{total}  {path.name}\n")
    return path


def main():
    options = _parse()
    target = Path(options.target).absolute()
    target.mkdir(parents=True, exist_ok=True)
    made = product(options.version)
    if not options.no_build:
        build(BUILD, targets=_TARGETS, name="building plugin and programs", tree=find_tree())
    if options.optimize:
        os.environ["ROWAN_PLUGIN"] = str(optimize(find_tree()))
    path = _file(made, "deb" if options.kind == "container" else options.kind, target)
    say(f"package: {path}, for MySQL {made.server}")
    if options.kind == "container":
        say(f"package: image {build_container(made, path, target, options.base)}")
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "package"))
