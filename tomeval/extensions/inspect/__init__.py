"""Other frameworks for evaluation: inspect_ai's models, tasks and logs, lm-eval's keys, records."""
