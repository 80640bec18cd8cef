"""A search in front of a FastMCP server's tools: real servers, real clients, in memory and over HTTP."""

import pytest

pytest.importorskip("fastmcp", reason="the extra fastmcp is not installed")
