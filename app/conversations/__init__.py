"""Conversations: messages, who takes part, and how messages are answered."""
