# SPDX-License-Identifier: GPL-2.0-only
"""PHP with WordPress and MediaWiki: Debian's packages, run where they are unpacked."""
import contextlib
import subprocess
from pathlib import Path

from rowantools.bench.private_package import provide
from rowantools.server import free_port
from tools import or_skip, run

_PACKAGES = ["php-cli", "php-mysql", "php-mbstring", "php-xml", "php-intl", "wordpress",
             "mediawiki"]
# One after the other: some need one before them.
_EXTENSIONS = ["mysqlnd", "mysqli", "xml", "dom", "ctype", "fileinfo", "iconv", "intl", "mbstring",
               "posix", "simplexml", "tokenizer", "xmlreader"]


class Php:
    """`folder` is for its settings; `environment` is that of each of its programs."""

    def __init__(self, folder, environment):
        root = or_skip(lambda: provide("php-applications", _PACKAGES))
        self.wordpress, self.mediawiki = (root / "usr/share" / name
                                          for name in ("wordpress", "mediawiki"))
        self._program = next(root.glob("usr/bin/php[0-9]*"))
        self._folder = Path(folder)
        extensions = next(path.parent for path in root.glob("usr/lib/php/*/mysqlnd.so"))
        (self._folder / "php.ini").write_text(
            f'extension_dir = "{extensions}"\nmemory_limit = 512M\ndisplay_errors = stderr\n'
            + "".join(f"extension = {name}\n" for name in _EXTENSIONS))
        self.environment = {**environment, "PHPRC": str(self._folder), "PHP_INI_SCAN_DIR": ""}

    def run(self, script, *arguments, environment=None):
        """What it prints."""
        return run([str(self._program), str(script), *map(str, arguments)],
                   environment={**self.environment, **(environment or {})})

    @contextlib.contextmanager
    def serving(self, root, environment):
        """The address at which PHP's own server answers for the pages below root."""
        address = f"127.0.0.1:{free_port()}"
        log = self._folder / "php.log"
        with open(log, "ab") as stream:
            process = subprocess.Popen(
                [str(self._program), "-S", address, "-t", str(root)], stdin=subprocess.DEVNULL,
                stdout=stream, stderr=stream, env={**self.environment, **environment},
                start_new_session=True)
        try:
            yield f"http://{address}", log
        finally:
            process.terminate()
            process.wait()
