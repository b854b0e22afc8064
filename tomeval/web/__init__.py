"""Pages on this machine: the light server under `tomeval view` and `tomeval study`."""
