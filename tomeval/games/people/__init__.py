"""People in seats, at a terminal."""
