"""Play experiments: which episodes are left, who plays them and when to stop; plans and previews.

May import `runs` and what lies below it. `runner.run_experiment` says step by step what it does.
"""
