"""Hyperparameters by cross-validation."""
