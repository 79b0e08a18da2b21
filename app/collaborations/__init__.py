"""Collaboration sessions: several agents work on one goal, in a known pattern, within caps."""
