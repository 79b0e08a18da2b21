"""Consultations: an agent asks, Parley decides who answers, gives that specialist a curated context, and watches that
asking gets somewhere."""
