"""Documents and vectors to the index files of a snapshot."""
