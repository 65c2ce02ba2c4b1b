"""Chatbots: systems that answer posts."""
