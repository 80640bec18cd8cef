"""Tools over the turns of a dialogue."""
