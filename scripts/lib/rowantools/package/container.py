# SPDX-License-Identifier: GPL-2.0-only
"""An image of a server with Rowan, built by podman from packaging/Containerfile."""
import os
import shutil
import subprocess

from ..paths import UserError
from ..private_apt import debian_archive_uri
from ..progress import Step
from .contents import PACKAGING, fresh_folder

_BASE = "localhost/debian-sid"


def podman():
    """The command; ROWAN_PODMAN may add options, as another storage folder."""
    command = os.environ.get("ROWAN_PODMAN", "podman").split()
    if not shutil.which(command[0]):
        raise UserError(f"there is no {command[0]}; Debian has it in the package podman")
    return command


def build_container(product, package, target, base=None):
    """Returns the image's name. Without a base, one is made from Debian's archive."""
    place = fresh_folder(target / "container")
    shutil.copyfile(package, place / "rowan.deb")
    entrypoint = place / "entrypoint"
    entrypoint.write_text(product.fill((PACKAGING / "entrypoint").read_text()))
    entrypoint.chmod(0o755)
    if not base:
        base = _BASE
        _make_base(place)
    image = f"localhost/{product.name}:{product.version.replace('+', '_')}"
    with Step(f"building {image}"):
        # Neither a network nor namespaces of its own: it only installs packages.
        _run([*podman(), "build", "--isolation=chroot", "--network=host", "--build-arg",
              f"BASE={base}", "--file", str(PACKAGING / "Containerfile"), "--tag", image,
              str(place)])
    shutil.rmtree(place)
    return image


def _make_base(place):
    if not shutil.which("mmdebstrap"):
        raise UserError("there is no mmdebstrap to make a base image with: install it, or name "
                        "an image of Debian's unstable suite with --base")
    archive = place / "base.tar"
    with Step("making a base image of Debian unstable"):
        _run(["mmdebstrap", "--variant=minbase", "--aptopt=Acquire::Check-Valid-Until \"false\"",
              "sid", str(archive), debian_archive_uri()])
        _run([*podman(), "import", str(archive), _BASE])
    archive.unlink()


def _run(command):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise UserError(f"{command[0]} failed:\n{result.stdout.strip()[-1500:]}")
