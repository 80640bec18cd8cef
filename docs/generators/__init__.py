"""Reference pages that are generated from the code: `python -m docs.generators` writes them to docs/reference/."""
