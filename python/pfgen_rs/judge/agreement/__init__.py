"""Agreement of judges with raters, their biases, and rankings of models; statistics on arrays of letters."""
