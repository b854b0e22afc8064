"""inspect_ai: its providers as models, tasks for it, and its logs of these tasks as runs."""
