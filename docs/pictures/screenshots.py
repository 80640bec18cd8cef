"""Draw the pictures of the pages and of the report: `python -m docs.pictures.screenshots`.

Builds the demo catalog in a temporary workspace, serves it on a free port of this machine, and photographs the pages
with Chromium. Ends everything that it starts.
"""

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import FloatRect, Page, sync_playwright

PICTURES = Path(__file__).parent
ROOT = PICTURES.parents[1]
DEMO = ROOT / "catalogs" / "demo"
_COMMAND = (sys.executable, "-m", "quartermaster")
_WIDTH, _COLORS = 1280, 96

REFUND = "a customer was charged twice, give one of the payments back"
UNSAID = "tell Ravi that I approved his budget"


def main() -> None:
    """Build, serve, photograph, and write the pictures beside this file."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        workspace = Path(folder) / "workspace"
        _run("build", DEMO, "--workspace", workspace)
        report = Path(folder) / "report.html"
        _run("evaluate", "--bench", DEMO, "--snapshot", workspace / "snapshots" / "demo", "--html", report)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        with _served(workspace) as address:
            tab = browser.new_page(viewport={"width": _WIDTH, "height": 800}, color_scheme="light")
            _photograph(tab, f"{address}/?{urlencode({'request': REFUND})}", "home", to=".results > li:nth-child(3)")
            _photograph(tab, f"{address}/tools/stripe/createRefund", "tool", to="table[aria-labelledby=phrases]")
            why = f"{address}/tools/slack/send_direct_message?{urlencode({'request': UNSAID})}"
            _photograph(tab, why, "why_not", to=".why")
            _photograph(tab, report.as_uri(), "report", to="figure")
        browser.close()


def _run(*arguments: str | Path) -> None:
    """Run a command of quartermaster."""
    done = subprocess.run([*_COMMAND, *map(str, arguments)], cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"quartermaster {arguments[0]} ended with {done.returncode}")


@contextmanager
def _served(workspace: Path) -> Iterator[str]:
    """Serve a workspace at a free port; yield the address."""
    command = [*_COMMAND, "serve", "http", "--port", "0", "--workspace", str(workspace)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
    try:
        line = server.stdout.readline() if server.stdout else ""
        if "http://" not in line:
            raise SystemExit(f"the server did not start: {line!r}")
        yield line.split()[-1]
    finally:
        server.terminate()
        server.communicate()


def _photograph(tab: Page, url: str, name: str, to: str) -> None:
    """Write the picture of a page, from its top to the end of the element `to`, in few colours."""
    tab.goto(url)
    box = tab.locator(to).first.bounding_box()
    if box is None:
        raise SystemExit(f"{url} has nothing to see at {to}")
    clip: FloatRect = {"x": 0, "y": 0, "width": _WIDTH, "height": box["y"] + box["height"] + 6}
    with Image.open(io.BytesIO(tab.screenshot(full_page=True, clip=clip))) as shot:
        shot.convert("RGB").quantize(_COLORS).save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
