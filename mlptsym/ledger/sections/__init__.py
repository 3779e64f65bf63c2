"""The entries of the ledger, a module for each part of the argument."""
