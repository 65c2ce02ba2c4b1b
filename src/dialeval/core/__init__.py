"""Dialogues, rubrics, votes and runs as arrays; reading and writing them; errors."""
