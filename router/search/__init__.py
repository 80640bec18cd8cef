"""A query in a snapshot: encoded, ranked by each signal, fused."""
