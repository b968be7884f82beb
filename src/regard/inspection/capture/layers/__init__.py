"""Layers of other libraries whose attention no single function shows: read as a whole, when they return."""
