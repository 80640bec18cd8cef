"""The query adapter, learned from the catalog's own phrases."""
