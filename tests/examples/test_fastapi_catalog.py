"""examples/fastapi_catalog.py: an app's own operations, built, routed and called back."""

from pathlib import Path

from tests.examples.conftest import Run


def test_the_routed_operation_is_called_through_the_app(run: Run, folder: Path) -> None:
    printed = run("fastapi_catalog.py")
    assert "bakery/place_order, POST /customers/{customer}/orders" in printed
    assert printed.splitlines()[-1] == (
        "  {'number': 1, 'customer': 'Ada', 'gift': True, 'product': 'rye bread', 'pieces': 2}"
    )
    assert (folder / ".quartermaster" / "bakery.openapi.json").is_file()
