"""Written reasoning beside the prediction and the action."""
