"""The command line: `python -m quartermaster` and the command `quartermaster`."""

import sys

from quartermaster.package_check import require_own_packages


def main() -> None:
    """Run the command line. Exits with 2 where another project's packages hide ours."""
    try:
        require_own_packages("router", "pipeline", "flows")
    except ImportError as error:
        print(f"quartermaster: {error}", file=sys.stderr)
        sys.exit(2)
    from flows.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
