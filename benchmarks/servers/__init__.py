"""The Python servers that Parley is measured against."""
