"""Tables that a user gives: read within bounds, column by column, and never trusted."""
