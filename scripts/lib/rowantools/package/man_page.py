# SPDX-License-Identifier: GPL-2.0-only
"""A manual page made of what a program says of itself, so that the two cannot differ."""
import os
import subprocess
import time

from ..paths import UserError


def man_page(product, program, subject, commands=()):
    """Of a program that answers --help; `commands` answer --help of their own."""
    parts = [("DESCRIPTION", _help(program))]
    parts += [(f"COMMAND {command.upper()}", _help(program, command)) for command in commands]
    date = time.strftime("%Y-%m-%d", time.gmtime(product.epoch))
    name = program.name
    lines = [f'.TH {name.upper()} 1 "{date}" "Rowan {product.version}" "Rowan"',
             ".SH NAME", f"{name} \\- {_escaped(subject)}"]
    for title, text in parts:
        lines += [f".SH {title}", ".nf", *(_escaped(line) for line in text.splitlines()), ".fi"]
    lines += [".SH SEE ALSO", f"/usr/share/doc/{product.name}/docs".replace("-", "\\-"), ""]
    return "\n".join(lines)


def _help(program, *command):
    environment = {**os.environ, "COLUMNS": "78", "LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run([str(program), *command, "--help"], capture_output=True, text=True,
                            env=environment)
    if result.returncode or not result.stdout.strip():
        raise UserError(f"{program} --help says nothing: {result.stderr.strip()}")
    return result.stdout.strip()


def _escaped(line):
    text = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text
