"""`statewright graph`: a definition drawn, for the terminal, for Mermaid or as SVG."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from statewright.cli.extensions import extensions_option
from statewright.cli.output import NOT_FOUND, USAGE, Refused, Stop, reason_of, stderr, stdout
from statewright.cli.output_files import write_output

NARROW = 40
DEFAULT_WIDTH = 100
STDIN = "-"
OTHER_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".dot")


@click.command(short_help="Draw a definition as text, Mermaid or SVG.")
@click.argument("file", metavar="FILE")
@click.option("--text", "form", flag_value="text", default=True, help="Draw for a terminal (default).")
@click.option("--mermaid", "form", flag_value="mermaid", help="Write a Mermaid flowchart, as Markdown pages draw it.")
@click.option(
    "--svg", "form", flag_value="svg", help="Write an SVG image that follows the reader's light or dark theme."
)
@click.option("-O", "--out", "target", metavar="FILE", help="Write to a file; .svg and .mmd choose the format.")
@click.option("--width", type=click.IntRange(NARROW, 1000), help="The width of the text drawing, in columns.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters only.")
@click.pass_context
@extensions_option
def graph(
    context: click.Context, file: str, form: str, target: str | None, width: int | None, ascii_only: bool
) -> None:
    """Draw a definition.

    A definition with mistakes is drawn too, as far as it goes: missing targets stand out. FILE may be - for the
    standard input.

    \b
    Examples:
      statewright graph order.asl.json
      statewright graph order.asl.json --svg --out order.svg
      statewright graph order.asl.yaml --mermaid
    """
    from statewright.asl.reader import ReadError, read_document
    from statewright.graph.model import build_graph

    name = "<stdin>" if file == STDIN else file
    try:
        text = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
        document = read_document(text, name=name)
    except OSError as problem:
        raise Stop(NOT_FOUND, f"{file}: {reason_of(problem)}") from None
    except ReadError as problem:
        raise Refused(name, problem.diagnostics) from None
    chosen = context.get_parameter_source("form") is not click.core.ParameterSource.DEFAULT
    if target is not None and not chosen:
        ending = Path(target).suffix.lower()
        if ending in OTHER_IMAGES:
            raise Stop(USAGE, f"--out: drawings cannot be written as {ending}", "write an image as .svg")
        form = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid"}.get(ending, form)
    drawing = build_graph(document.value)
    printer = stdout()
    if form == "svg":
        from statewright.graph.svg import render_svg

        text = render_svg(drawing)
    elif form == "mermaid":
        from statewright.graph.mermaid import render_mermaid

        text = render_mermaid(drawing)
    else:
        from statewright.graph.text import render_text

        columns = width or (printer.width if printer.is_terminal and target is None else DEFAULT_WIDTH)
        coloured = printer.coloured and target is None
        plain = ascii_only or (target is None and not printer.encodes_all)
        text = render_text(drawing, width=columns, color=coloured, ascii_only=plain)
    if target is None:
        printer.plain(text)
        return
    write_output(target, text)
    stderr().line(f"Wrote {target}")
