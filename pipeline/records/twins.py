"""Twins of a catalog: the rule is the router's, which finds them among its own tools too."""

from router.twins import twins

__all__ = ["twins"]
