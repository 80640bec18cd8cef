"""Text to vectors: the encoder that runs in the router; `export` makes its files."""
