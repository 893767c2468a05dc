"""Weights on support points, and every question that can be asked of them."""
