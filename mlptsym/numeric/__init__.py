"""Numbers: size laws, queues, policies, mean response times and optima."""
