"""The text that a chat model sees and gives back: fences, and files in fences."""
