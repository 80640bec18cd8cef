"""Text to vectors: runs an exported encoder in the router and applies the query adapter."""
