"""Everything that needs a person, in one queue."""
