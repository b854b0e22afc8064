"""Players of known levels of recursion in Decrypto, and of known orders in matrix games."""
