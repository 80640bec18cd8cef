"""Past requests: read, embedded, and learned from."""
