"""One self-contained HTML file of a run: numbers, figures, comparisons, and a few games."""
