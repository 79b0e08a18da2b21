"""One file for each pattern: given what has happened, what comes next. No session, no clock, no model."""
