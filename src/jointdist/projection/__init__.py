"""Signed distributions become proper ones: projected, isotonic or recalibrated."""
