"""Beyond the paper, each module or folder a section: bounds, gradients, moving state out, breaks, distributions."""
