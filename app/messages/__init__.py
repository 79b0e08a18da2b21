"""Messages between agents: who gets one, in which order, and what an inbox holds."""
