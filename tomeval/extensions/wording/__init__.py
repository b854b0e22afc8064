"""Wording: how much of a measure other wordings of the same questions would have changed."""
