"""A search in front of a FastMCP server's tools: real servers, real clients, in memory and over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastmcp", reason="the extra fastmcp is not installed")

from fastmcp import Client, Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import AccessToken, StaticTokenVerifier, require_scopes
from fastmcp.server.middleware import Middleware
from fastmcp.tools.base import Tool, ToolResult
from mcp_types import TextContent

from router import Router, SettingsInvalid
from router.adapters.fastmcp import RouterSearch
