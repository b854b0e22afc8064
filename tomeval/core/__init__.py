"""What everybody stands on: errors, shipped files, randomness, outcomes. Imports nothing else."""
