"""How statements are decided: identities of rational functions, intervals, and digits."""
