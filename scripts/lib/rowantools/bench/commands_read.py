# SPDX-License-Identifier: GPL-2.0-only
"""The commands that read results: report, diff, repeat, gate."""
from argparse import Namespace
from pathlib import Path

from ..paths import UserError


def add_commands(commands):
    parser = commands.add_parser("report", help="the page, Markdown or text of a result")
    parser.set_defaults(run=_report)
    parser.add_argument("file", type=Path)
    parser.add_argument("--format", choices=["text", "markdown", "html", "figures"], default="text",
                        help="what is printed (default text; figures are the main tables as "
                        "Markdown; the page and all of the Markdown are written beside the result "
                        "in any case)")
    parser = commands.add_parser("diff", help="two results of one command, side by side")
    parser.set_defaults(run=_diff)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="also as a result, with its page and Markdown")
    parser = commands.add_parser("repeat", help="the measurement of a result once more")
    parser.set_defaults(run=_repeat)
    parser.add_argument("file", type=Path)
    parser.add_argument("--output", type=Path, metavar="FILE")
    parser = commands.add_parser("gate", help="repeats the measurement of a result and fails where "
                                 "a ratio to the base fell by more than a tenth")
    parser.set_defaults(run=_gate)
    parser.add_argument("file", type=Path, help="the earlier result, of at least five rounds")
    parser.add_argument("--with", type=Path, dest="after", metavar="FILE",
                        help="judge this result instead of measuring")
    parser.add_argument("--output", type=Path, metavar="FILE")


def _report(options):
    from . import result
    from .report.markdown import figures, markdown
    from .report.page import page
    from .report.publish import write
    from .report.text import terminal_text
    from .summary import Summary
    summary = Summary(result.read(options.file))
    written = write(summary, options.file)
    forms = {"text": terminal_text, "markdown": markdown, "html": page,
             "figures": figures}
    print(forms[options.format](summary))
    if options.format == "text":
        print("\n" + "\n".join(written))
    return 0


def _diff(options):
    from . import result
    from .compare import compare
    from .report.publish import write
    from .report.text import terminal_text
    from .summary import Summary
    document = compare(result.read(options.before), result.read(options.after),
                       options.before.stem, options.after.stem)
    summary = Summary(document)
    print(terminal_text(summary))
    if options.output:
        import json
        options.output.write_text(json.dumps(document, indent=1) + "\n")
        print("\n" + "\n".join([str(options.output), *write(summary, options.output)]))
    return 0


def _repeat(options):
    from . import result
    from .cli import main
    document = result.read(options.file)
    if document["command"] == "diff":
        raise UserError(f"{options.file} is a comparison of two results; repeat these")
    output = ["--output", str(options.output)] if options.output else []
    words = [document["command"], *document["arguments"]]
    try:
        return main([*words, *output])
    except SystemExit:
        raise UserError(f"{options.file}: this driver does not take its command line: "
                        + " ".join(words))


def _gate(options):
    from . import result
    from .gate import judge, report, require_rounds
    before = result.read(options.file)
    require_rounds(before, options.file)
    path = options.after
    if path is None:
        from .result import partial_of
        from .session import default_path
        path = options.output or default_path("gate")
        try:
            status = _repeat(Namespace(file=options.file, output=path))
        finally:
            partial_of(path).unlink(missing_ok=True)   # where it ended before it measured
        if status == 130:
            return status
    after = result.read(path)
    require_rounds(after, path)
    verdicts = judge(before, after)
    print("\n".join(report(verdicts)))
    if not any(one.failed or one.change is not None for one in verdicts):
        raise UserError("nothing could be judged")
    return 1 if any(one.failed for one in verdicts) else 0
