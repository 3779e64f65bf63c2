"""What the paper prints: its formulas as they stand under test, its setting, and its numerical claims with their evidence."""
