# SPDX-License-Identifier: GPL-2.0-only
"""From the options of a command to its workload, and from its result to the reports."""
import importlib
import os

from ..paths import BUILD, UserError
from ..progress import say
from .options import request_of


def launch(options):
    """Runs the command that options.spec names; the status of the program."""
    module, _, name = options.spec.workload.partition(".")
    found = getattr(importlib.import_module(f".{module}", __package__), name)
    return found(options) if found is demo else measure(options, found)


def measure(options, workload):
    """Runs a Workload and returns the status of the program. Whatever ends it, what was measured is
    published."""
    from .database import error_types, sentence
    from .report.publish import publish
    from .session import Session
    if workload.prepare(options):
        return 0
    request = request_of(options)
    _prepare(request.on, workload.tools)
    session = Session(request, workload.make_targets(options))
    ended = None
    try:
        with session:
            workload(session, options).run()
    except (KeyboardInterrupt, UserError, *error_types()) as error:
        ended = error
    if session.result.document["runs"]:
        if ended:
            say("\nbench: what was measured by then is kept")
        publish(session.result.document, session.result.path)
    elif isinstance(ended, KeyboardInterrupt):
        raise ended
    if isinstance(ended, KeyboardInterrupt):
        return 130
    if ended:
        raise ended if isinstance(ended, UserError) else UserError(sentence(ended))
    return 1 if session.failed else 0


def _prepare(on, tools):
    """The private server and what is built of the checkout, where a target needs them."""
    from .. import setup
    from ..build import build
    from .targets import parse_all
    if not any(target.own and target.kind == "mysql" for target in parse_all(on)):
        return
    tree = setup.prepare()
    # What is measured is what stands in the checkout, unless another plugin is named.
    wanted = [tool for tool in tools if tool != "ha_rowan" or "ROWAN_PLUGIN" not in os.environ]
    if wanted:
        build(BUILD, ["-DROWAN_SANITIZE="], targets=wanted, name="building " + wanted[0],
              tree=tree)


# Of each group the plainest, so that all is over in three minutes.
_DEMO_TESTS = ("update-index", "update-nonindex", "read-write_range=100", "read-only_range=100",
               "point-query", "points-notcovered-si", "range-notcovered-si", "insert")


def demo(options):
    """Two measurements with results of their own: some microbenchmarks, and durable commits."""
    from .cli import main
    from .result import partial_of
    from .session import default_path
    path = options.output or default_path("demo")
    partial_of(path).unlink(missing_ok=True)   # both halves have names of their own
    time_s, rounds = str(options.time), str(options.rounds)
    status = main(["micro", "--tests", ",".join(_DEMO_TESTS), "--shape", "1x100k", "--threads",
                   ",".join(map(str, options.threads)), "--rounds", rounds, "--time", time_s,
                   *[word for target in options.on or () for word in ("--on", target)],
                   *_shared(options), f"--output={path.with_name(path.stem + '-micro.json')}"])
    if status == 130:
        return status
    return main(["commit", "--binlogs", "off", "--threads", "1", "--rounds", "1", "--time", time_s,
                 *_shared(options),
                 f"--output={path.with_name(path.stem + '-commit.json')}"]) or status


def _shared(options):
    """The options that both halves of the demo take."""
    given = {"dir": options.dir, "memory": options.memory and f"{options.memory}M",
             "redo": f"{options.redo}M", "binlog": options.binlog,
             "sync-delay": options.sync_delay}
    words = [f"--{name}={value}" for name, value in given.items() if value]
    words += [f"--server-option={option}" for option in options.server_option]
    return words + ["--relaxed"] * options.relaxed
