"""Search of a snapshot: `search` for one request, `conversation` for the messages of a dialogue."""
