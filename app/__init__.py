"""Parley's server, without its graph and its jobs."""

import os

# Before numpy is loaded. Vectors are compared with a few thousand others at most: threads would cost more than they
# save, most of all where other processes want the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
