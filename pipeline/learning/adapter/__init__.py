"""Learn the query adapter from the catalog's own phrases, or reuse the one that serves."""
