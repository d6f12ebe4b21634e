# SPDX-License-Identifier: GPL-2.0-only
"""An apt of our own: fetches packages of Debian's unstable suite, or of another archive, into a
folder, without root.

It uses the archive address that the machine's own source of that distribution names (the standard
archive where there is none, e.g. Debian's on Ubuntu), the distribution's keyring, and an empty
status file, so that every dependency down to libc is fetched and nothing on the machine is touched.
"""
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .paths import UserError

STANDARD_ARCHIVE = "http://deb.debian.org/debian"
_KEYRINGS = "usr/share/keyrings"


@dataclass(frozen=True)
class Archive:
    """Suites of a distribution. `keyring` is a file, the machine's or else that of Debian's package
    `keyring_package`; `known_suites` tell whose archive a source names."""
    title: str
    suites: tuple
    components: str
    standard_uri: str
    keyring: str
    keyring_package: str
    known_suites: frozenset

    def uri(self, etc_apt=Path("/etc/apt")):
        """The address of the machine's own archive of that distribution, or the standard one."""
        for uri, suites in _configured_sources(etc_apt):
            if any(suite.rstrip("/") in self.known_suites for suite in suites):
                return uri.rstrip("/")
        return self.standard_uri


DEBIAN = Archive("Debian unstable", ("sid",), "main", STANDARD_ARCHIVE,
                 "debian-archive-keyring.gpg", "debian-archive-keyring",
                 frozenset({"stable", "testing", "unstable", "sid", "oldstable", "bullseye",
                            "bookworm", "trixie", "forky", "duke"}))
UBUNTU = Archive("Ubuntu 26.04", ("resolute", "resolute-updates"), "main universe",
                 "http://archive.ubuntu.com/ubuntu", "ubuntu-archive-keyring.gpg",
                 "ubuntu-keyring", frozenset({"jammy", "noble", "questing", "resolute"}))


def debian_archive_uri(etc_apt=Path("/etc/apt")):
    """The address of the machine's own Debian archive, or the standard one."""
    return DEBIAN.uri(etc_apt)


def _configured_sources(etc_apt):
    """Yields (uri, suites) of each source that offers the component main."""
    parts = etc_apt / "sources.list.d"
    for path in sorted(parts.glob("*.sources")) if parts.is_dir() else []:
        yield from _parse_deb822(path.read_text(errors="replace"))
    lists = [etc_apt / "sources.list"] + (sorted(parts.glob("*.list")) if parts.is_dir() else [])
    for path in lists:
        if path.is_file():
            yield from _parse_one_line(path.read_text(errors="replace"))


def _parse_deb822(text):
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", text):
        fields, last = {}, None
        for line in stanza.splitlines():
            if line[:1].isspace() and last:
                fields[last] += " " + line.strip()
            elif ":" in line:
                last, value = line.split(":", 1)
                last = last.strip().lower()
                fields[last] = value.strip()
        enabled = fields.get("enabled", "yes").lower() not in ("no", "false", "0")
        if enabled and "deb" in fields.get("types", "").split() and \
                "main" in fields.get("components", "").split():
            for uri in fields.get("uris", "").split():
                yield uri, fields.get("suites", "").split()


def _parse_one_line(text):
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)", line)
        if match and "main" in match.group(3).split("#")[0].split():
            yield match.group(1), [match.group(2)]


class PrivateApt:
    """Downloads packages with all dependencies into `folder`/cache/archives."""

    def __init__(self, folder, archive=DEBIAN):
        self._folder, self._archive = Path(folder), archive
        self.archives = self._folder / "cache" / "archives"

    def prepare(self):
        """Writes the configuration and reads the package lists."""
        keyring, archive = self._keyring(), self._archive
        for part in ("lists/partial", "cache/archives/partial"):
            (self._folder / part).mkdir(parents=True, exist_ok=True)
        (self._folder / "status").write_text("")
        (self._folder / "sources.list").write_text(
            "".join(f"deb [signed-by={keyring}] {archive.uri()} {suite} {archive.components}\n"
                    for suite in archive.suites))
        self._apt("update")

    def planned_bytes(self, packages):
        """The size of all archives that fetching `packages` needs."""
        output = self._apt("--print-uris", "-y", "install", *packages)
        return sum(int(size) for size in re.findall(r"^'\S+' \S+ (\d+)", output, re.MULTILINE))

    def fetched_bytes(self):
        """What lies in the archive folder by now, whole and partial files."""
        total = 0
        for folder, _, names in os.walk(self.archives):
            for name in names:
                try:
                    total += os.path.getsize(os.path.join(folder, name))
                except OSError:
                    pass
        return total

    def fetch(self, packages):
        """Downloads; a second call after an interruption continues where the first stopped."""
        self._apt("--download-only", "-y", "install", *packages)
        return sorted(self.archives.glob("*.deb"))

    def remove(self):
        shutil.rmtree(self._folder, ignore_errors=True)

    def _keyring(self):
        """The file that tells the archive's own packages; another distribution's is fetched."""
        name, package = self._archive.keyring, self._archive.keyring_package
        path = Path("/") / _KEYRINGS / name
        if not path.exists() and self._archive is not DEBIAN:
            folder = self._folder / "keyring"
            path = folder / _KEYRINGS / name
            if not path.exists():
                apt = PrivateApt(self._folder / "debian")
                apt.prepare()
                for deb in apt.fetch([package]):
                    subprocess.run(["dpkg", "-x", deb, folder], check=True)
        if not path.exists():
            raise UserError(f"the archive keyring {path} is missing (package {package})")
        return path

    def _options(self):
        folder = self._folder
        settings = {
            "Dir::Etc::SourceList": folder / "sources.list",
            "Dir::Etc::SourceParts": "/nonexistent",
            "Dir::Etc::Preferences": "/nonexistent",
            "Dir::Etc::PreferencesParts": "/nonexistent",
            "Dir::State::Lists": folder / "lists",
            "Dir::State::status": folder / "status",
            "Dir::State::extended_states": folder / "extended_states",
            "Dir::Cache": folder / "cache",
            "Dir::Cache::Archives": "archives/",
            "Dir::Log": folder,
            "Debug::NoLocking": "1",
            "APT::Install-Recommends": "0",
            "APT::Get::List-Cleanup": "0",
            "APT::Sandbox::User": "",
            "Acquire::Check-Valid-Until": "false",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "3",
        }
        return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def _apt(self, *arguments):
        command = ["apt-get", *self._options(), *arguments]
        environment = dict(os.environ, LC_ALL="C", DEBIAN_FRONTEND="noninteractive")
        result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        failed_index = "update" in arguments and re.search(r"^[EW]: Failed to fetch", result.stdout,
                                                           re.MULTILINE)
        if result.returncode != 0 or failed_index:
            tail = "\n".join(result.stdout.strip().splitlines()[-8:])
            raise UserError(f"fetching MySQL packages from {self._archive.uri()} failed "
                            f"(apt-get {arguments[0]}); run the command again to continue:\n{tail}")
        return result.stdout
