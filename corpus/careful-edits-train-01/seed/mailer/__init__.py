"""Makes the mails about orders."""
