"""Adaptation to partners that change their policy: when it is noticed, and when acted on."""
