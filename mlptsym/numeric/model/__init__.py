"""The numeric model: queue, memory laws, policies, and the service law with its hazard and breaks."""
