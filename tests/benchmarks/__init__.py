"""What is measured by ``make bench``: ratios to peers and to limits, in one run on one machine."""
