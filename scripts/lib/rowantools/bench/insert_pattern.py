# SPDX-License-Identifier: GPL-2.0-only
"""Where the insert benchmark's new entries go in each index, as a code: one letter for the primary
key, a dash, one for each secondary index. A-RRR is the usual one."""
import re

from ..paths import UserError

_WORDS = {"A": "ascending", "R": "random", "Z": "skewed"}
_INDEXES = ("marketing (price, customerid)", "register (cashregisterid, price, customerid)",
            "price (price, dateandtime, customerid)")


def check(code):
    """The code itself; UserError where it is none."""
    if not re.fullmatch(r"[AR]-[ARZ]{3}", code):
        raise UserError(f"--pattern {code}: one of A, R, a dash, and three of A, R, Z")
    if code[2] != code[4]:
        raise UserError(f"--pattern {code}: the marketing and the price index begin with the same "
                        "column, so their letters are the same")
    return code


def describe(code):
    """The code in words."""
    parts = [f"primary key {_WORDS[code[0]]}"]
    parts += [f"{index} {_WORDS[letter]}" for index, letter in zip(_INDEXES, code[2:])]
    return f"{code}: {', '.join(parts)}"
