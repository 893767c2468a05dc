"""Point forecasts, scales and out-of-fold residuals."""
