"""What games are played with: the contract, policies, seats, the loop, replays, solvers."""
