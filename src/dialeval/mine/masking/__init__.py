"""Masking: numbers and names that tell who somebody is become placeholders."""
