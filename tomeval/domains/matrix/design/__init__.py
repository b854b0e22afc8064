"""The search for partners that tell players apart."""
