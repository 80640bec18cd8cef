"""Draws docs/pictures/explain.svg, the terminal after `quartermaster explain`: `python -m docs.pictures.terminal`.

It builds catalogs/demo in a folder of its own, runs the command in this process, and records what it prints.
"""

import re
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.terminal_theme import MONOKAI

from pipeline.build import build
from pipeline.settings import load
from quartermaster.cli.main import main
from quartermaster.output import terminal

PICTURE = Path(__file__).with_name("explain.svg")
ROOT = Path(__file__).parents[2]
REQUEST = "a customer was charged twice, give one of the payments back"
# Rich's picture asks a host for its font; the reader's own does as well.
_WITHOUT_FONTS = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def draw(workspace: Path) -> str:
    """Return the picture of the command's output, over a workspace that holds the demo."""
    terminal.out.record, terminal.out.width = True, 100
    sys.argv = ["quartermaster", "explain", REQUEST, "-k", "5", "--workspace", str(workspace), "--catalog", "demo"]
    with suppress(SystemExit):  # it ends with an exit code
        main()
    title = f'quartermaster explain "{REQUEST}" -k 5'
    return terminal.out.export_svg(title=title, theme=MONOKAI, code_format=_WITHOUT_FONTS, unique_id="explain")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        build(load(ROOT / "catalogs" / "demo"), workspace=Path(folder))
        PICTURE.write_text(draw(Path(folder)), encoding="utf-8")
    print(f"wrote {PICTURE.name}", file=sys.stderr)
