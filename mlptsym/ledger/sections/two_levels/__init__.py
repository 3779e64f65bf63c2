"""Section 4.3 and appendix A, two levels: corollary 4.6, equations (29) and (30), A, B, Q and the jump at ℓ_C."""
