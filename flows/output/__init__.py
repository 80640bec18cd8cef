"""Results as people read them: tables in a terminal, a page, artifacts of a flow."""
