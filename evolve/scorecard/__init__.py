"""Scorecards: what each cell of a sweep took, and what that says of its arm; nothing that decides reads them."""
