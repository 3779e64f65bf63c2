"""Section 4.2, waiting: equations (15)–(25), lemmas 4.3 and 4.4."""
