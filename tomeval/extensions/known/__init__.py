"""Published games of models that everybody knows, and of people, as runs that ship."""
