"""What people decide, and what follows from it: answers, expired questions, overridden decisions."""
