"""Measures Parley against hand-written SQL, an ordinary server and Node's best, side by side on one machine."""
