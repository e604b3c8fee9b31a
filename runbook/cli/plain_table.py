"""A table as text, as wide as it needs: what is piped or read in a narrow terminal is not broken."""

from collections.abc import Iterable
from typing import Literal

from rich.cells import cell_len
from rich.text import Text

Row = tuple[str, ...]


def plain_table(
    title: str,
    heading: Row,
    rows: Iterable[Row],
    legend: str = "",
    *,
    justify: Literal["left", "right"] = "right",
) -> Text:
    """Columns as wide as their widest cell, whatever the terminal: no name is ever broken.

    The first column is justified left, the others as `justify` says. A row may be shorter than the heading.
    """
    lines = [heading, *rows]
    widths = [
        max(cell_len(line[place]) for line in lines if place < len(line)) for place in range(len(heading))
    ]
    text = Text().append(title, style="bold")
    for line in lines:
        cells = [
            (cell.rjust if place and justify == "right" else cell.ljust)(width - cell_len(cell) + len(cell))
            for place, (cell, width) in enumerate(zip(line, widths, strict=False))
        ]
        text.append("\n" + "  ".join(cells).rstrip(), style="bold" if line is heading else "")
    return text.append(f"\n{legend}", style="dim") if legend else text
