"""Follow-up jobs: what Parley does by itself after a change, at once or at a deadline. The table is an outbox."""
