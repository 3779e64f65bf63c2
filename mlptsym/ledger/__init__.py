"""The ledger: every statement of the paper with a check that proves it, and wrong variants that the check refutes.

`registry` has the entries, `entry` says what one is, `checks` how statements are decided; `printed` holds the paper's
formulas as they stand under test.  `paper_claims` holds the paper's numerical claims against theory and simulation;
`claims` decides a user's own formula.
"""
