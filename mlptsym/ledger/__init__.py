"""The ledger: every statement of the paper with a check that proves it, and wrong variants that the check refutes.

`registry` has the entries, `entry` says what one is; they are made in `sections` and decided by `exact`.  `paper` holds
the paper's formulas as they stand under test, and its numerical claims against theory and simulation; `claims` decides
a user's own formula, and `render` shows all of it.
"""
