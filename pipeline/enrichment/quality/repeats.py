"""Texts of one field that say the same: by the router's rule, which screens the lexicon's words by it too."""

from router.overlap import repeated, term_set

__all__ = ["repeated", "term_set"]
