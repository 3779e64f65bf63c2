"""A formula of one's own: read by a grammar, put into the package's symbols, proved or refuted."""
