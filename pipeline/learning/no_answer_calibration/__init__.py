"""Calibrate the probability that some tool fits, by background queries and held-out phrases."""
