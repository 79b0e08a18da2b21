"""Measures Parley beside hand-written SQL, an ordinary Strawberry server and Node servers, on one machine."""
