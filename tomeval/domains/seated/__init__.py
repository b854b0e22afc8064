"""What games of seats and turns share: players, options, chairs, language models, previews."""
