"""Servers and workers that run as processes of their own: the Python contenders and Parley's worker."""
