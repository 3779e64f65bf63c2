"""Beyond the paper: the transform of the response time, and the moments it gives."""
