"""Where a user's own files lie, beside those of a catalog and a workspace."""

from pathlib import Path

from platformdirs import user_config_path


def config_folder() -> Path:
    """Return the folder of what a user has set up once for all catalogs; it need not exist."""
    return user_config_path("quartermaster", appauthor=False)
