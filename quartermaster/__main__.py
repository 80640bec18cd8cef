"""The command line: `python -m quartermaster` and the command `quartermaster`."""

import os
import sys
import traceback

from quartermaster.package_check import require_own_packages


def main() -> None:
    """Run the command line. Exits with 2 where another project's packages hide ours, 70 where ours are broken."""
    try:
        require_own_packages("router", "pipeline", "flows")
    except ImportError as error:
        print(f"quartermaster: {error}", file=sys.stderr)
        sys.exit(2)
    try:
        from quartermaster.cli.main import main as run
    except Exception as error:  # noqa: BLE001 - a broken installation must not end with the code of "held"
        if os.environ.get("QUARTERMASTER_TRACEBACK"):
            traceback.print_exception(error)
        print(f"quartermaster: unforeseen error: it cannot be loaded: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(70)
    run()


if __name__ == "__main__":
    main()
