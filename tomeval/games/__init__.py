"""What every game is played with: the contract of rules, policies, seats, the loop, solvers."""
