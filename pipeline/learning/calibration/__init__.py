"""No-answer calibration: how likely it is that some tool fits."""
