"""Maximum likelihood: the logarithm of the ratio is linear in functions of both sides."""
