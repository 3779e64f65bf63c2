"""Entries and derivations as text, LaTeX and notebook output."""
