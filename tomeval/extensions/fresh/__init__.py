"""Fresh games, disguised twins of famous ones, and whether a model recognises them."""
