"""Errands: steps that Parley owes somebody, at once or at a time."""
