"""The agents whose skills are improved."""
