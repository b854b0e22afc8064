"""What games of seats and turns share besides: players, options, language models."""
