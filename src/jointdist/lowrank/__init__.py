"""n rows become m × m matrices: pivoted Cholesky factors, moments and bases."""
