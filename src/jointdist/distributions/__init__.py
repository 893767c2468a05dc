"""Weights on support points, and every question asked of the distributions they form."""
