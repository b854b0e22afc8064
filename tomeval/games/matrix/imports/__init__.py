"""Games that were played elsewhere: logs of many forms, made into runs."""
