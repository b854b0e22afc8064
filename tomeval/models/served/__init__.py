"""Models behind an OpenAI-compatible server, and the caps on what they cost."""
